import type * as v from "valibot";
import { type Image, versionName } from "../../engine/query.ts";
import type { PublishedVersion } from "../shared/messages.ts";
import type { ApiErrorType } from "./errors.ts";
import { checkParameters, type Parameters, parseQuery } from "./parameters.ts";
import type { Usage } from "./responses.ts";

export const basePath = "/api/v1";

export interface Version extends Omit<PublishedVersion, "image"> {
  image: Image;
}

export interface Versions {
  /** Newest version first. The first one is the current version's. */
  images: readonly Image[];
  byName: ReadonlyMap<string, Version>;
}

export class Context {
  readonly versions: Versions;
  /** The decoded parameter in the path; empty if the path has none. */
  readonly segment: string;
  /** Memory that the answer may be written to. The next answer overwrites it. */
  readonly scratch: Buffer;
  /** Number of rows before this page. */
  readonly offset: number;
  /** Whether the answer shows the account's state. Such an answer isn't kept for later requests. */
  isLive = false;
  /**
   * Whether the answer never changes. If undefined, it never changes for an exact version's path and for a page. Ignored
   * for a file with a signature.
   */
  isPinned: boolean | undefined;
  readonly #usage: () => Usage;
  readonly #findImage: () => Image;
  #image: Image | undefined;

  /** @param findImage returns the image of the data version that the path names, or else the current image */
  constructor(
    versions: Versions,
    segment: string,
    scratch: Buffer,
    usage: () => Usage,
    findImage: () => Image,
    offset = 0,
  ) {
    this.versions = versions;
    this.segment = segment;
    this.scratch = scratch;
    this.offset = offset;
    this.#usage = usage;
    this.#findImage = findImage;
  }

  /**
   * The image of the requested data version. Read it after the parameters are checked, so that a bad parameter is
   * reported before an unknown version.
   * @throws ApiError `not_found`
   */
  get image(): Image {
    this.#image ??= this.#findImage();
    return this.#image;
  }

  usage(): Usage {
    this.isLive = true;
    return this.#usage();
  }

  onPage(image: Image, offset: number): Context {
    return new Context(this.versions, this.segment, this.scratch, this.#usage, () => image, offset);
  }
}

/**
 * A body that is a file instead of JSON. A file with a signature is in memory. Other files are made while they are sent.
 */
export class FileBody {
  readonly name: string;
  readonly length: number;
  /** Generates the bytes from position `start` to before `end`, or all bytes if the file has no signature. */
  readonly chunks: (start: number, end: number) => Generator<Uint8Array, void>;
  /** Identifies the file's bytes for range requests; undefined if ranges of the file can't be requested. */
  readonly signature: string | undefined;

  constructor(name: string, length: number, chunks: FileBody["chunks"], signature?: string) {
    this.name = name;
    this.length = length;
    this.chunks = chunks;
    this.signature = signature;
  }
}

/** @template Answer what the body is made from */
export interface Endpoint<Answer extends object = object> {
  /** The path below `basePath`. Its last segment, or the segment before the last, may be a parameter, `/{name}`. */
  path: string;
  /** Name of the operation in the OpenAPI document. */
  name: string;
  summary: string;
  /** The endpoint's purpose and how to read its answers, in Markdown, for newcomers. */
  description: string;
  returns: string;
  /** The subject of the answers: one data version, a page of a list, all data versions, or the service itself. */
  kind: "versioned" | "page" | "overall" | "service";
  segment?: { name: string; description: string; example: string };
  parameters: v.ObjectSchema<Parameters, undefined>;
  response?: v.GenericSchema;
  fileType?: string;
  /** The endpoint's errors besides those that any request can get. */
  errors?: readonly ApiErrorType[];
  /** Makes the body of an answer with status 200. @param query the undecoded text after the `?` @throws ApiError */
  answer(context: Context, query: string): Uint8Array | FileBody;
  /** Makes the same answer before it is written as JSON: an object, or bytes or a file if there is no such object. */
  value(context: Context, query: string): Answer;
  keyed?: Keyed;
}

/** Reads an endpoint's common queries as numbers. Parsing a query's text would cost as much as making the answer. */
export interface Keyed {
  /** Returns an integer below 2^31 that determines the answer; −1 for a query in another form or without an answer. */
  read(image: Image, query: string): number;
  /** Makes the same body as `Endpoint.answer`. @param scratch memory for the body, which the next answer overwrites */
  answer(image: Image, key: number, scratch: Buffer): Uint8Array;
}

type Unchanged<Value> = Value extends object
  ? { readonly [Key in keyof Value]: Unchanged<Value[Key]> }
  : Value;
/** What an answer is made from: a file, the bytes of a JSON body, or the object that is written as JSON. */
type AnswerOf<Response extends v.GenericSchema> = Uint8Array | FileBody | Unchanged<v.InferInput<Response>>;

/** Defines an endpoint. Its `answer` gets checked parameters, and must return what `response` describes. */
export function endpoint<Schema extends Parameters, Response extends v.GenericSchema<object>>(
  definition: Omit<Endpoint, "parameters" | "response" | "answer" | "value"> & {
    parameters: v.ObjectSchema<Schema, undefined>;
    response?: Response;
    answer(context: Context, values: v.InferOutput<v.ObjectSchema<Schema, undefined>>): AnswerOf<Response>;
  },
): Endpoint<AnswerOf<Response>> {
  const value = (context: Context, query: string) =>
    definition.answer(context, checkParameters(definition.parameters, parseQuery(query), definition));
  return {
    ...definition,
    value,
    answer(context, query) {
      const answer = value(context, query);
      if (answer instanceof Uint8Array || answer instanceof FileBody) return answer;
      return Buffer.from(JSON.stringify(answer));
    },
  };
}

export const sourceOf = ({ description: { provenance } }: Image) => ({
  data_year: provenance.dataYear,
  data_version: versionName(provenance),
  caveat: provenance.caveat,
});
