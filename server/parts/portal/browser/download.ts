import { useEffect, useState } from "preact/hooks";
import { html } from "../../../shared/browser/html.ts";
import { getFile, request } from "./api.ts";
import { pathOf } from "./asking.ts";
import { save } from "./card.ts";
import { otherError, useAction } from "./form.ts";

/** Downloads the files of a data version. Requests are made by script, because a link can't send the key. */

const formats = [
  ["CSV", "csv", "for spreadsheets; amounts in dollars"],
  ["Arrow", "arrow", "for data frames; amounts in dollars"],
  ["Parquet", "parquet", "the snapshot itself, smallest; amounts in cents"],
] as const;

const megabytes = (bytes: number) => (bytes < 50_000 ? "< 0.1 MB" : `${(bytes / 1e6).toFixed(1)} MB`);

export function Downloads({ version }: { version: string }) {
  return html`<ul class="downloads">
    ${formats.map(([name, ending, about]) => html`<${Download} key=${ending} version=${version} name=${name} ending=${ending} about=${about} />`)}
  </ul>`;
}

function Download({ version, name, ending, about }: Record<"version" | "name" | "ending" | "about", string>) {
  const path = pathOf(`/export.${ending}`, {}, version);
  const [bytes, setBytes] = useState(0);
  const [message, setMessage] = useState("");
  const { failure, isBusy, run } = useAction();
  useEffect(() => {
    // If the size can't be read, the file can still be downloaded.
    request(path, { method: "HEAD" }).then(
      ({ ok, headers }) => setBytes(ok ? Number(headers.get("Content-Length")) : 0),
      () => {},
    );
  }, [path]);
  const download = () =>
    run(async () => {
      setMessage("");
      const file = `opps-${version}.${ending}`;
      save(file, await getFile(path));
      setMessage(`${file} is saved.`);
    });
  return html`<li>
    <button type="button" class="primary" aria-disabled=${isBusy} onClick=${download} aria-label=${`Download ${version} as ${name}`}>${name}</button>
    <span class="size">${bytes > 0 && megabytes(bytes)}</span>
    <span class="quiet">${about}</span>
    ${isBusy && html`<progress aria-label=${`${name} of ${version}`}></progress>`}
    <span class="good" role="status">${message}</span>
    <span class="error" role="alert">${otherError(failure)}</span>
  </li>`;
}
