import { useEffect, useState } from "preact/hooks";
import { html } from "../../../shared/browser/html.ts";
import { sentenceOf } from "./action.ts";
import { asFailure, base, Failure, failureOf, request } from "./api.ts";
import { save } from "./figures.ts";

/** Downloads the files of a data version with the key, which a link can't send. */

const formats = [
  { name: "CSV", ending: "csv", about: "for spreadsheets; amounts in dollars" },
  { name: "Arrow", ending: "arrow", about: "for data frames; amounts in dollars" },
  { name: "Parquet", ending: "parquet", about: "the snapshot itself, smallest; amounts in cents" },
] as const;
type Format = (typeof formats)[number];

export const pathOf = (version: string, ending: Format["ending"]) =>
  `${base}/versions/${version}/export.${ending}`;

const sizeWords = new Intl.NumberFormat("en-US", { minimumFractionDigits: 1, maximumFractionDigits: 1 });
const megabytes = (bytes: number) => (bytes < 50_000 ? "< 0.1 MB" : `${sizeWords.format(bytes / 1e6)} MB`);

async function sizeAt(path: string): Promise<number | null> {
  const response = await request(path, { method: "HEAD" });
  const length = response.headers.get("Content-Length");
  return response.ok && length !== null ? Number(length) : null;
}

export function Downloads({ version }: { version: string }) {
  return html`<ul class="downloads">
    ${formats.map((format) => html`<${Download} key=${format.ending} version=${version} format=${format} />`)}
  </ul>`;
}

function Download({ version, format }: { version: string; format: Format }) {
  const path = pathOf(version, format.ending);
  const [size, setSize] = useState<number | null>(null);
  /** Bytes downloaded so far; null where no download runs. */
  const [got, setGot] = useState<number | null>(null);
  const [said, setSaid] = useState("");
  const [failure, setFailure] = useState<Failure | null>(null);
  useEffect(() => {
    // The file can be downloaded without its size.
    sizeAt(path).then(setSize, () => {});
  }, [path]);
  const fetchFile = async () => {
    setGot(0);
    setSaid("");
    setFailure(null);
    try {
      const response = await request(path);
      if (!response.ok || response.body === null) throw await failureOf(response);
      const parts: Uint8Array<ArrayBuffer>[] = [];
      const reader = response.body.getReader();
      for (let bytes = 0; ; ) {
        const { done, value } = await reader.read();
        if (done) break;
        parts.push(value);
        bytes += value.length;
        setGot(bytes);
      }
      const name = `opps-${version}.${format.ending}`;
      save(name, new Blob(parts, { type: response.headers.get("Content-Type") ?? "" }));
      setSaid(`${name} is saved.`);
    } catch (error) {
      // A connection that breaks off within the body isn't an answer of the API.
      setFailure(asFailure(error instanceof TypeError ? new Failure(0, "offline", error.message) : error));
    }
    setGot(null);
  };
  return html`<li>
    <button type="button" class="primary" disabled=${got !== null} onClick=${fetchFile} aria-label=${`Download ${version} as ${format.name}`}>
      ${format.name}
    </button>
    <span class="size">${size === null ? "" : megabytes(size)}</span>
    <span class="quiet">${format.about}</span>
    ${
      got !== null &&
      html`<span class="going">
        <progress max=${size ?? undefined} value=${size === null ? undefined : got} aria-label=${`${format.name} of ${version}`}></progress>
        ${megabytes(got)}
      </span>`
    }
    <span class="good" role="status">${said}</span>
    <span class="error" role="alert">${failure && fileError(failure)}</span>
  </li>`;
}

function fileError(failure: Failure) {
  if (failure.status === 0) return "The server can't be reached. Nothing was saved: try again.";
  if (failure.status === 404) return "This version isn't served any more. Load the page again for what is.";
  if (failure.status === 401) return html`A key that works is needed: <a href="/account">sign in</a>`;
  return sentenceOf(failure);
}
