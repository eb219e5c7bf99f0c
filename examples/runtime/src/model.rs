//! A model that always does the same.

pub struct Model {
    number: u64,
}

impl Model {
    pub const fn at(number: u64) -> Self {
        Self { number }
    }

    pub fn prompt(&self) -> String {
        format!("What is {0} and {0}?", self.number)
    }

    pub fn call(&self) -> String {
        format!("{{\"a\":{0},\"b\":{0}}}", self.number)
    }

    pub fn result(&self) -> String {
        (self.number * 2).to_string()
    }

    pub fn answer(&self) -> String {
        format!("It is {}.", self.result())
    }
}
