import { useMemo, useState } from "react";
import type { EventWithDeliveries } from "../../api/types.ts";
import { JsonView, PlainText } from "../../json/json-view.tsx";
import { prettyXml } from "../../json/xml.ts";
import { Button } from "../../ui/button.tsx";
import { CopyButton } from "../../ui/copy-button.tsx";
import { Segmented } from "../../ui/segmented.tsx";
import { readBody, type Body } from "./body.ts";

export function BodyPanel({ event, payloadText }: { event: EventWithDeliveries; payloadText: string | undefined }) {
  const body = useMemo(() => readBody(event, payloadText), [event, payloadText]);
  const [form, setForm] = useState<"pretty" | "raw">("pretty");
  return (
    <section className="card" aria-labelledby="body-head">
      <div className="card-head">
        <h2 id="body-head">Body</h2>
        {body.kind !== "none" && (
          <div className="page-acts">
            {body.kind !== "binary" && (
              <Segmented label="Form" options={{ pretty: "Pretty", raw: "Raw" }} value={form} onChange={setForm} />
            )}
            <CopyButton text={body.text} />
            <Button kind="quiet" onClick={() => download(event.event_id, body)}>
              Download
            </Button>
          </div>
        )}
      </div>
      <Shown body={body} isPretty={form === "pretty"} erasedAt={event.body_erased_at} />
    </section>
  );
}

function Shown({ body, isPretty, erasedAt }: { body: Body; isPretty: boolean; erasedAt: string | null }) {
  if (body.kind === "none") return <p className="muted">{erasedAt === null ? "It has no body." : "It was erased."}</p>;
  if (body.kind === "binary") return <p className="muted">It is no text. Download it to see it.</p>;
  if (!isPretty) return <PlainText text={body.text} />;
  if (body.kind === "json") return <JsonView text={body.text} />;
  return <PlainText text={body.kind === "xml" ? prettyXml(body.text) : body.text} />;
}

function download(name: string, { kind, bytes }: Body): void {
  const url = URL.createObjectURL(new Blob([bytes as BlobPart]));
  const link = document.createElement("a");
  link.href = url;
  link.download = `${name}.${kind === "json" || kind === "xml" ? kind : kind === "text" ? "txt" : "bin"}`;
  link.click();
  URL.revokeObjectURL(url);
}
