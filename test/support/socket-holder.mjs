// Holds a listening socket, as systemd does, and runs a command with it again and again until the command is gone for
// good. Its own loop never runs meanwhile, so that it accepts nothing itself.
// usage: node socket-holder.mjs COMMAND [ARGUMENT …]
import { spawnSync } from "node:child_process";
import { writeSync } from "node:fs";
import { createServer } from "node:net";

const [command, ...args] = process.argv.slice(2);
const FIRST_START = 1;
const STARTS = 2;

const server = createServer().listen({ port: 0, host: "127.0.0.1", backlog: 511 }, () => {
  writeSync(1, `port ${server.address().port}\n`);
  for (let start = FIRST_START; start <= STARTS; start++) {
    // The id of the process is known only to itself: the shell becomes the command.
    const script = `echo "start ${start} $$"; export LISTEN_PID=$$ LISTEN_FDS=1; exec "$@"`;
    const stdio = ["ignore", "inherit", "inherit", server._handle.fd];
    spawnSync("/bin/sh", ["-c", script, "sh", command, ...args], { stdio });
  }
  process.exit(0);
});
