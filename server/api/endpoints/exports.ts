import * as v from "valibot";
import {
  arrowBytes,
  arrowPieces,
  csvBytes,
  csvPieces,
  type ExportScope,
  type Image,
  rowsOfScope,
  versionName,
} from "../../../engine/query.ts";
import { type Context, type Endpoint, endpoint, FileBody } from "../endpoint.ts";
import { noRows } from "../not-found.ts";
import { state } from "../parameters.ts";

const parameters = v.object({
  procedure: v.optional(
    v.pipe(
      v.string(),
      v.nonEmpty("an APC code"),
      v.description("APC code of the procedure group, as in `/healthcare/prices`. Without it, all groups."),
      v.examples(["5072"]),
    ),
  ),
  state,
});

function answerRows(
  extension: string,
  bytes: (image: Image, scope: ExportScope) => number,
  chunks: (image: Image, scope: ExportScope) => Generator<Uint8Array, void>,
) {
  return ({ versions, image }: Context, { procedure, state }: v.InferOutput<typeof parameters>) => {
    const place = procedure === undefined ? null : (image.procedureOf.get(procedure) ?? -1);
    const scope = { procedure: place, state: state ?? null };
    if (place === -1 || rowsOfScope(image, scope).rows === 0) throw noRows(versions, image, procedure, state);
    const name = fileName(image, extension, procedure, state);
    return new FileBody(name, bytes(image, scope), () => chunks(image, scope));
  };
}

function fileName(image: Image, extension: string, ...parts: (string | undefined)[]): string {
  const known = parts.filter((part) => part !== undefined);
  return `${["opps", versionName(image.description.provenance), ...known].join("-")}.${extension}`;
}

export const csv: Endpoint = endpoint({
  path: "/export.csv",
  name: "exportCsv",
  summary: "Every row as CSV (RFC 4180), including rows without a price",
  description:
    "All rows of a data version as CSV (RFC 4180) with a header line; amounts are dollars. Counts as one request, " +
    "whatever its length.",
  returns: "The file, as an attachment.",
  kind: "versioned",
  fileType: "text/csv; charset=utf-8; header=present",
  parameters,
  errors: ["not_found", "precondition_failed"],
  answer: answerRows("csv", csvBytes, csvPieces),
});

export const arrow: Endpoint = endpoint({
  path: "/export.arrow",
  name: "exportArrow",
  summary: "The same rows and columns as an Arrow IPC stream; texts are dictionary-coded",
  description:
    "The rows and columns of the CSV export as an Arrow IPC stream, with dictionary-coded texts. pandas, Polars, R and " +
    "DuckDB read it without parsing.",
  returns: "The stream, as an attachment.",
  kind: "versioned",
  fileType: "application/vnd.apache.arrow.stream",
  parameters,
  errors: ["not_found", "precondition_failed"],
  answer: answerRows("arrow", arrowBytes, arrowPieces),
});

export const parquet: Endpoint = endpoint({
  path: "/export.parquet",
  name: "exportParquet",
  summary: "The snapshot file itself, whole or a range of its bytes; amounts are in cents",
  description:
    "The snapshot file of a data version. Amounts are whole cents. With `Range`, readers such as DuckDB fetch only the " +
    "columns that they need.",
  returns: "The whole file, as an attachment.",
  kind: "versioned",
  fileType: "application/vnd.apache.parquet",
  parameters: v.object({}),
  errors: ["precondition_failed", "range_not_satisfiable"],
  answer({ image, versions }) {
    const version = versionName(image.description.provenance);
    const file = versions.byName.get(version)?.file;
    if (file === undefined) throw new Error(`no snapshot file of data version ${version}, expected one`);
    const chunks = (start: number, end: number) => chunksOf(file.bytes, start, end);
    return new FileBody(fileName(image, "parquet"), file.bytes.length, chunks, file.sha256);
  },
});

const chunkBytes = 16 * 2 ** 10;

function* chunksOf(bytes: Uint8Array, start: number, end: number): Generator<Uint8Array, void> {
  for (let at = start; at < end; at += chunkBytes) yield bytes.subarray(at, Math.min(end, at + chunkBytes));
}
