#!/usr/bin/env node
// Starts the program of this machine's platform, which is a package of its own. Nothing is downloaded here.
"use strict";

const { spawnSync } = require("node:child_process");
const { constants } = require("node:os");

// Node.js names glibc in its report where it runs on it. Older npm installs both programs for Linux.
function libcs() {
  if (process.platform !== "linux") return [""];
  const glibc = process.report.getReport().header.glibcVersionRuntime;
  return glibc ? ["", "-musl"] : ["-musl"];
}

function findProgram() {
  const platform = `@siglum/${process.platform}-${process.arch}`;
  for (const libc of libcs()) {
    try {
      return require.resolve(`${platform}${libc}/bin/siglum`);
    } catch {
      // Not installed: it is not for this platform, or optional dependencies were left out.
    }
  }
  console.error(`error: ${platform} is not installed`);
  console.error("hint: install siglum without --omit=optional, on a platform that it is made for");
  process.exit(1);
}

// Ctrl-C reaches the program itself; this process waits for what it makes of it.
process.on("SIGINT", () => {});
const { status, signal, error } = spawnSync(findProgram(), process.argv.slice(2), { stdio: "inherit" });
if (error) {
  console.error(`error: ${error.message}`);
  process.exit(1);
}
process.exit(signal ? 128 + constants.signals[signal] : status);
