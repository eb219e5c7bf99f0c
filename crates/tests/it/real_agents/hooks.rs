//! Scripts around the hook commands: to make hooks slow, and to time them.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use super::lab::Lab;

impl Lab {
    fn settings(&self) -> PathBuf {
        self.home().join(".claude/settings.json")
    }

    /// Puts a script around the hook commands of the agent. It gets the name of the event as its
    /// first argument and the command as the others.
    pub(super) fn wrap_hooks(&self, script: &str) {
        let wrapper = self.beside("wrapper.sh");
        fs::write(&wrapper, script).expect("a script");
        self.change_hooks(|event, hook| {
            let command = hook["command"].as_str().expect("a command");
            let command = format!("sh {} {event} {command}", wrapper.display());
            hook["command"] = Value::String(command);
        });
    }

    /// Changes what the settings say of each hook.
    pub(super) fn change_hooks(&self, change: impl Fn(&str, &mut Value)) {
        let text = fs::read_to_string(self.settings()).expect("the settings");
        let mut settings: Value = serde_json::from_str(&text).expect("JSON");
        let events = settings["hooks"].as_object_mut().expect("hooks");
        for (event, groups) in events {
            for group in groups.as_array_mut().expect("groups") {
                for hook in group["hooks"].as_array_mut().expect("hooks") {
                    change(event, hook);
                }
            }
        }
        fs::write(self.settings(), settings.to_string()).expect("the settings");
    }

    /// Notes how long each hook takes.
    pub(super) fn time_hooks(&self) {
        let times = self.beside("log/hooks");
        self.wrap_hooks(&format!(
            "event=$1; shift; from=$(date +%s%N); \"$@\"; code=$?; to=$(date +%s%N)\n\
             echo \"$event $(( (to - from) / 1000 ))\" >> {}\nexit $code\n",
            times.display()
        ));
    }

    /// Prints how long the hooks took.
    #[expect(clippy::print_stdout, reason = "a measurement is for reading")]
    pub(super) fn print_hook_times(&self) {
        let times = fs::read_to_string(self.beside("log/hooks")).expect("times");
        for line in times.lines() {
            let (event, micros) = line.split_once(' ').expect("an event and its time");
            let micros: f64 = micros.parse().expect("a number");
            println!("hook {event:20} {:7.1} ms", micros / 1000.0);
        }
    }
}
