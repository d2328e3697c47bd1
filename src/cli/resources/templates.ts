import { ReportedFailure } from "../failure.ts";
import { note, print } from "../output.ts";
import { readBytes, readJson } from "../read-value.ts";
import { asText, printRows, type Field, type Row } from "./fields.ts";
import { type Call, type Resource } from "./resource.ts";
import { flag, ownFlag, subscriptionFlag } from "./flags.ts";

const PATH = "/api/v1/templates";

const PROBLEMS: readonly Field[] = [
  ["TEMPLATE", "field"],
  ["WHAT IS WRONG", "message"],
];

export const RESOURCE: Resource = {
  path: PATH,
  key: "file",
  actions: {
    preview: {
      help: "show the result of a template, a preset, or the templates of a subscription for an event; - reads standard input",
      takes: "[file]",
      path: () => `${PATH}/preview`,
      flags: [
        subscriptionFlag("the templates of this subscription, by name or id, instead of a file"),
        flag("--preset <name>", "a preset instead of a file: slack, teams or discord", {
          field: "settings",
          read: (preset) => ({ preset }),
        }),
        ownFlag("--place <place>", "where the result of the template is used", {
          choices: ["text", "html", "json", "url", "header"],
          default: "text",
        }),
        flag("--event <id>", "the id of a received event", { field: "event_id" }),
        flag("--type <type>", "the type of a made-up event", { field: "event.event_type" }),
        flag("--data <json>", "the payload of the made-up event, as JSON or @FILE", {
          field: "event.data",
          read: readJson,
        }),
      ],
      body: ({ body, args: [file], flags }) =>
        file === undefined ? body : { ...body, templates: [read(file, flags)] },
      print: printPreview,
      check({ problems, fault }) {
        if (fault !== null || (problems as Row[]).length > 0) throw new ReportedFailure();
      },
    },
  },
  notes: `Exit code 1 when something is wrong.

Examples:
  posthorn templates preview body.liquid --place json --type order.created --data '{"total": 12}'
  posthorn templates preview --preset slack --event evt_01m7hw9zy2ebzbqm83bvdaavs5
  posthorn templates preview --subscription sub_01m7hw9xzjewcvkjd2bcd7444a --data @order.json`,
};

function read(file: string, { place }: Call["flags"]): object {
  return { name: file, text: readBytes(file).toString("utf8"), place };
}

function printPreview({ rendered, problems, fault }: Row): void {
  const texts = (rendered ?? []) as Row[];
  for (const { name, text } of texts) {
    if (texts.length > 1) note(`${asText(name)}:`);
    print(asText(text) ?? "");
  }
  if (fault !== null) note(asText(fault) ?? "");
  if ((problems as Row[]).length > 0) printRows(PROBLEMS, problems as Row[]);
}
