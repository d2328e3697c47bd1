import type { RequestWithBody } from "../api/types.ts";
import { useState } from "react";
import { JsonView, PlainText } from "../json/json-view.tsx";
import { prettyXml } from "../json/xml.ts";
import { Button } from "./button.tsx";
import { CopyButton } from "./copy-button.tsx";
import { Segmented } from "./segmented.tsx";

export interface Body {
  kind: "json" | "xml" | "text" | "binary" | "none";
  text: string;
  bytes: Uint8Array;
}

interface BodyCardProps {
  body: Body;
  /** Of the file that it is downloaded as, without its ending. */
  name: string;
  /** Why there is none. */
  none: string;
}

export function BodyCard({ body, name, none }: BodyCardProps) {
  const [form, setForm] = useState<"pretty" | "raw">("pretty");
  return (
    <section className="card" aria-labelledby="body-head">
      <div className="card-head">
        <h2 id="body-head">Body</h2>
        {body.kind !== "none" && (
          <div className="page-actions">
            {body.kind !== "binary" && (
              <Segmented label="Form" options={{ pretty: "Pretty", raw: "Raw" }} value={form} onChange={setForm} />
            )}
            <CopyButton text={body.text} />
            <Button kind="quiet" onClick={() => download(name, body)}>
              Download
            </Button>
          </div>
        )}
      </div>
      <Shown body={body} isPretty={form === "pretty"} none={none} />
    </section>
  );
}

function Shown({ body, isPretty, none }: { body: Body; isPretty: boolean; none: string }) {
  if (body.kind === "none") return <p className="muted">{none}</p>;
  if (body.kind === "binary") return <p className="muted">It is no text. Download it to see it.</p>;
  if (!isPretty) return <PlainText text={body.text} />;
  if (body.kind === "json") return <JsonView text={body.text} />;
  return <PlainText text={body.kind === "xml" ? prettyXml(body.text) : body.text} />;
}

/** Bytes that came with this content type: what is no JSON is shown as it is. */
export function toBody(bytes: Pick<RequestWithBody, "body" | "body_base64">, contentType: string): Body {
  if (bytes.body_base64 !== undefined) return toBinary(bytes.body_base64);
  const text = bytes.body ?? "";
  if (text === "") return { kind: "none", text, bytes: new Uint8Array() };
  const kind = /[/+]xml\b/i.test(contentType) ? "xml" : /^\s*[[{"\d-]/.test(text) ? "json" : "text";
  return { kind, text, bytes: new TextEncoder().encode(text) };
}

export function toBinary(base64: string): Body {
  const bytes = Uint8Array.from(atob(base64), (sign) => sign.charCodeAt(0));
  return { kind: "binary", text: base64, bytes };
}

function download(name: string, { kind, bytes }: Body): void {
  const url = URL.createObjectURL(new Blob([bytes as BlobPart]));
  const link = document.createElement("a");
  link.href = url;
  link.download = `${name}.${kind === "json" || kind === "xml" ? kind : kind === "text" ? "txt" : "bin"}`;
  link.click();
  URL.revokeObjectURL(url);
}
