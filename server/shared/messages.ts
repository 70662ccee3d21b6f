import type { BuildLimits } from "../../engine/load.ts";

/** What the control thread and the threads it starts tell each other. Buffers are shared, never copied. */

/** A snapshot file as it was when it was loaded. */
export interface SnapshotFile {
  /** The whole file, in shared memory. */
  bytes: Uint8Array;
  /** SHA-256 of these bytes, in hexadecimal. */
  sha256: string;
}

/** What to serve. */
export interface Published {
  /** Newest version first; `loadedAt` is an ISO time. */
  versions: { image: SharedArrayBuffer; loadedAt: string; file: SnapshotFile }[];
  /** Names of synthetic versions that aren't served because real ones are. */
  hidden: string[];
}

/** What a thread that listens waits for, in shared memory: to answer, or to end, when it answers nothing any more. */
export const gate = { shut: 0, open: 1, ending: 2 } as const;

export interface ServeData {
  gate: SharedArrayBuffer;
  host: string;
  port: number;
  connections: SharedArrayBuffer;
  maxConnections: number;
  trustedProxies: number;
  corsOrigins: readonly string[];
  keys: SharedArrayBuffer;
  limits: SharedArrayBuffer;
  /** Whether other servers admit requests of the same accounts. */
  areLimitsShared: boolean;
  names: SharedArrayBuffer;
  days: SharedArrayBuffer;
  events: SharedArrayBuffer;
  /** The thread's own. */
  traffic: SharedArrayBuffer;
  /** Requests to tell of in a second, at most. */
  accessLog: number;
  /** Names of the accounts whose requests these are; undefined for all, and for those without a key. */
  accessLogAccounts: readonly string[] | undefined;
  /** URL of the module that serves pages beside the API; see `serving/part.ts`. */
  pagesModule: string | undefined;
}

/** An answered request, as the access log shows it. */
export interface Access {
  /** The same as in the answer's X-Request-Id, where it has one. */
  requestId: string;
  /** Whose key it has, revoked or not; absent where there is no such key. */
  account?: string;
  keyId?: number;
  /** The client's, as a proxy has written it where proxies are trusted. */
  address: string;
  userAgent: string;
  /** Method, path and query, without what may be a secret. */
  request: string;
  status: number;
  /** Of the answer's body. */
  bytes: number;
  ms: number;
}

/** A post from a page; the control thread replies to it. */
export interface PortalRequest {
  /** Undecoded. */
  path: string;
  /** JSON, if all is well. */
  body: string;
  authorization: string;
  /** The client's IP address, as a proxy has written it. */
  address: string;
  /** For the log. */
  requestId: string;
}

export interface PortalReply {
  status: number;
  body: object;
  headers?: Record<string, string>;
}

/** A file for browsers, ready to be sent, in each content coding. */
export interface WebFile {
  path: string;
  /** Lines of the head, without the length; without the last line's break. */
  head: string;
  /** In shared memory. Codings that would make it no smaller are missing. */
  bodies: { identity: Uint8Array; br?: Uint8Array; gzip?: Uint8Array };
  /** With its quotes. */
  etag: string;
}

/** The first `publish` makes a thread listen, and answer as soon as the gate is open. */
export type ToServe =
  | { type: "publish"; published: Published }
  /** The pages' files, in place of those before. */
  | { type: "pages"; files: readonly WebFile[] }
  /** The reply to a `post`, or null when it has failed. */
  | { type: "posted"; id: number; reply: PortalReply | null }
  | { type: "drain" }
  | { type: "close" };

export type FromServe =
  | { type: "listening" }
  | { type: "failed"; reason: string }
  /** The reply to `publish`: from now on no answer comes from an image that isn't among those. */
  | { type: "published" }
  | { type: "drained" }
  /** To be answered by `posted` with the same number. */
  | { type: "post"; id: number; request: PortalRequest }
  | { type: "access"; access: Access }
  | { type: "error"; stack: string; requestId: string | undefined };

/** A load, or null: no more will come. */
export type ToLoad = LoadData | null;

export interface LoadData {
  /** What to call the file in errors. */
  name: string;
  /** The file, open for reading until the load is over. */
  fd: number;
  size: number;
  limits: BuildLimits;
}

/** What a load makes of a snapshot file. */
export interface LoadedSnapshot {
  image: SharedArrayBuffer;
  file: SnapshotFile;
}

export type FromLoad =
  | { type: "progress"; rows: number }
  | ({ type: "loaded" } & LoadedSnapshot)
  /** By what the file holds, by memory that its image would need, or by the system; for a DataError its three parts. */
  | { type: "failed"; cause: "content" | "size" | "system"; words: string[] };
