// For a service of another: its dates are later by CLOCK_LATER_MS, and by what it is told to on CLOCK_PORT, one number for
// each connection.
import { createServer } from "node:net";

const RealDate = Date;
let laterMs = Number(process.env.CLOCK_LATER_MS);

globalThis.Date = class Date extends RealDate {
  constructor(...args) {
    if (args.length === 0) super(RealDate.now() + laterMs);
    else super(...args);
  }

  static now() {
    return RealDate.now() + laterMs;
  }
};

createServer((socket) => {
  socket.setEncoding("utf8").on("data", (text) => {
    laterMs += Number(text);
    socket.end();
  });
  socket.on("error", () => socket.destroy());
})
  .listen(Number(process.env.CLOCK_PORT), "127.0.0.1")
  .unref();
