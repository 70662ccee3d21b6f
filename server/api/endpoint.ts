import type * as v from "valibot";
import type { Image } from "../../engine/query.ts";
import type { SnapshotFile } from "../shared/messages.ts";
import type { ApiErrorType } from "./errors.ts";
import { checkParameters, type Parameters, parseQuery } from "./parameters.ts";

/** What an endpoint is, and what it answers from. */

/** What every path of the API begins with. */
export const basePath = "/api/v1";

/** The data versions that are served. */
export interface Versions {
  /** Newest first; the first one is the current. */
  images: readonly Image[];
  byName: ReadonlyMap<string, Image>;
  /** ISO times at which they were loaded. */
  loadedAt: ReadonlyMap<string, string>;
  /** The files that they were loaded from. */
  files: ReadonlyMap<string, SnapshotFile>;
  /** Names of synthetic versions that aren't served because real ones are. */
  hidden: readonly string[];
}

/** The caller's account, as `/usage` shows it. */
export interface Usage {
  account: string;
  plan: string;
  period: { start: string; end: string };
  quota: { limit: number; used: number; remaining: number };
  burst: { limit: number };
  /** The UTC days of the month up to today; they add up to what is used. */
  days: { date: string; used: number }[];
  /** The newest warnings of the month, the oldest of them first. */
  events: { type: "quota.warning" | "quota.exhausted"; threshold: number; at: string }[];
}

/** What an endpoint answers from. */
export interface Context {
  versions: Versions;
  /** The data version that the path or the cursor names, or the current one. @throws ApiError `not_found` */
  image: Image;
  /** The path's last segment, decoded, where the endpoint's path ends in a parameter. */
  segment: string;
  /** Rows before this page. */
  offset: number;
  /** Memory that an answer may be written to, which is valid until the next one then. */
  scratch: Buffer;
  usage(): Usage;
  /** The same for a page of a list. */
  onPage(image: Image, offset: number): Context;
}

/** A file that is answered with instead of JSON, and made as it is sent. */
export class FileBody {
  /** What it is to be called where it is saved. */
  readonly name: string;
  readonly length: number;
  readonly chunks: (start: number, end: number) => Generator<Uint8Array, void>;
  /** Identifies the bytes, where ranges of them are served and other bytes may hold the same data. */
  readonly signature: string | undefined;

  constructor(name: string, length: number, chunks: FileBody["chunks"], signature?: string) {
    this.name = name;
    this.length = length;
    this.chunks = chunks;
    this.signature = signature;
  }
}

export interface Endpoint {
  /** Below `basePath`; may end in a parameter, `/{name}`. */
  path: string;
  /** Names the operation in the OpenAPI document, and the list in cursors. */
  name: string;
  summary: string;
  /** What it is for and how to read it, in Markdown; and what its 200 has. For those who see the API for the first time. */
  description: string;
  returns: string;
  /** What it answers about: one data version, a page of one, all of them, or the service itself. */
  kind: "versioned" | "page" | "overall" | "service";
  /** The path's parameter, where it ends in one. */
  segment: { name: string; description: string; example: string } | undefined;
  parameters: v.ObjectSchema<Parameters, undefined>;
  response: v.GenericSchema;
  /** The media type of what it answers with, where that is a file. */
  fileType: string | undefined;
  /** Errors it gives beside those that any request can meet. */
  errors: readonly ApiErrorType[];
  /**
   * The body of a 200.
   *
   * @param query what stands behind the `?`, undecoded
   * @throws ApiError `missing_parameter`, `invalid_parameter` or `not_found`
   */
  answer(context: Context, query: string): Uint8Array | FileBody;
  keyed: Keyed | undefined;
}

/** An endpoint's common queries, which are read as one number each: as a string each costs as much as its answer. */
export interface Keyed {
  /** A 32-bit whole number, the same for all queries that have the same answer; −1 for one in another form or without one. */
  read(image: Image, query: string): number;
  /** The body of a 200, the same as by `Endpoint.answer`. @param scratch as in `Context` */
  answer(image: Image, key: number, scratch: Buffer): Uint8Array;
}

/** Ties an endpoint's answer to the type of its parameters. */
export function endpoint<Schema extends Parameters>(
  definition: Omit<Endpoint, "parameters" | "answer" | "segment" | "keyed" | "fileType"> & {
    segment?: Endpoint["segment"];
    fileType?: Endpoint["fileType"];
    parameters: v.ObjectSchema<Schema, undefined>;
    answer(context: Context, values: v.InferOutput<v.ObjectSchema<Schema, undefined>>): Uint8Array | object;
  },
): Endpoint {
  return {
    segment: undefined,
    keyed: undefined,
    fileType: undefined,
    ...definition,
    answer(context, query) {
      const values = checkParameters(definition.parameters, parseQuery(query));
      const answer = definition.answer(context, values);
      if (answer instanceof Uint8Array || answer instanceof FileBody) return answer;
      return Buffer.from(JSON.stringify(answer));
    },
  };
}
