import { hmacOf, type Sample } from "./sample.ts";

export const dropbox: Sample = {
  kind: "dropbox",
  needsSecret: true,
  events: {
    notification: () => ({
      body: { list_folder: { accounts: ["dbid:AAH4f99T0taONIb"] }, delta: { users: [12_345_678] } },
    }),
  },
  sign: ({ body }, { secret }) => ({ headers: { "x-dropbox-signature": hmacOf("sha256", secret, [body], "hex") } }),
};
