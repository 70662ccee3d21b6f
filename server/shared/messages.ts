import type { MessagePort } from "node:worker_threads";
import type { Changes } from "../../engine/query.ts";
import type { ShareLimits } from "./plans.ts";

/** Messages between the control thread and the threads that it starts. Buffers are shared memory, and aren't copied. */

export interface SnapshotFile {
  bytes: Uint8Array;
  sha256: string;
  /** Whether the file has a checksum of its own. Without a checksum, damage to the file may go unnoticed. */
  isChecked: boolean;
}

export type Previous = { data_version: string } & Changes;

export interface PublishedVersion {
  image: SharedArrayBuffer;
  /** Time of the load in ISO 8601. */
  loadedAt: string;
  file: SnapshotFile;
  /** Comparison with the previous revision; null if that isn't served. */
  previous: Previous | null;
}

/** States of the gate in shared memory. Listening threads wait at the gate until they may answer or must end. */
export const gate = { shut: 0, open: 1, ending: 2 } as const;

export interface ThreadCode {
  gate: SharedArrayBuffer;
  trustedProxies: number;
  /** URL of the module that serves pages in addition to the API; see `serving/pages-part.ts`. */
  pagesModule: string | undefined;
  /** Undefined if there is no page thread. */
  pagePort: MessagePort | undefined;
}

export interface PageThreadCode {
  /** URL of the module that writes pages; see `serving/pages-part.ts`. */
  writingModule: string;
  ports: readonly MessagePort[];
}

export interface ServeData {
  host: string;
  port: number;
  connections: SharedArrayBuffer;
  maxConnections: number;
  /** Maximum bytes of one thread's answers that wait for slow clients or for their turn. */
  maxWaitingBytes: number;
  corsOrigins: readonly string[];
  keys: SharedArrayBuffer;
  /** Memory of `Limits`, or of a `PermitTable` if several servers share the accounts. */
  ceilings: SharedArrayBuffer;
  areShared: boolean;
  names: SharedArrayBuffer;
  days: SharedArrayBuffer;
  events: SharedArrayBuffer;
  /** The shares of the visitors' key by address; undefined without such a key or without limits for it. */
  shares: { limits: ShareLimits; buffer: SharedArrayBuffer } | undefined;
  traffic: SharedArrayBuffer;
  /** Maximum requests to log per second. */
  accessLog: number;
  /** Names of the accounts whose requests are logged; undefined for no restriction. */
  accessLogAccounts: readonly string[] | undefined;
}

export interface Access {
  requestId: string;
  /** The name of the key's account, even for a revoked key; absent without a known key. */
  account?: string;
  keyId?: number;
  /** The client's address, from X-Forwarded-For if proxies are trusted and the request has it. */
  address: string;
  userAgent: string;
  /** Method, path and perhaps query, without possible secrets, and cut if too long; see `requestShown`. */
  request: string;
  status: number;
  bytes: number;
  ms: number;
}

export interface PortalRequest {
  path: string;
  body: string;
  authorization: string;
  address: string;
  requestId: string;
}

export interface PortalReply {
  status: number;
  body: object;
  headers?: Record<string, string>;
}

export interface WebFile {
  path: string;
  /** Header lines except Content-Length, ETag and Content-Encoding, without a line break at the end. */
  head: string;
  /** Bytes in shared memory. Files below 1 KiB have only `identity`. */
  bodies: { identity: Uint8Array; br?: Uint8Array; gzip?: Uint8Array };
  etag: string;
  /** For a page whose numbers the page thread fills in; absent in other files. */
  template?: PageTemplate;
}

export interface PageTemplate {
  /** The page's HTML before its title and description, between these and its body, and after its body. */
  parts: readonly [string, string, string];
  /** The settings of the page's script, as JSON. */
  settings: string;
}

export interface Wait {
  slot: number;
  count: number;
}

export interface PermitAnswer {
  slot: number;
  /** Number of requests that are answered. The requests that have waited longest come first. */
  count: number;
  /** The month of the permits, by `monthOf`; if there are none, a negative number as `PermitTable.admit` returns it. */
  monthOrReason: number;
}

export type ToServe =
  /** Sent once. In `workerData`, the data would stay in the thread's memory. */
  | { type: "start"; data: ServeData; published: readonly PublishedVersion[] }
  /** The versions to serve, newest first. */
  | { type: "publish"; published: readonly PublishedVersion[] }
  /** The files that replace all earlier files of the pages. */
  | { type: "pages"; files: readonly WebFile[] }
  /** The reply to the `post` with the same id; null if the control thread failed to reply, or no part has pages. */
  | { type: "posted"; id: number; reply: PortalReply | null }
  | { type: "permits"; answers: readonly PermitAnswer[] }
  | { type: "drain" }
  | { type: "close" };

/** Messages to the page thread. It writes pages from the first `publish` on. */
export type ToPageThread = Extract<ToServe, { type: "publish" | "pages" | "close" }>;

export type FromServe =
  | { type: "listening" }
  | { type: "failed"; reason: string }
  /** The reply to `publish`. After it, new answers come only from the published versions. */
  | { type: "published" }
  /** The page thread's reply to `pages`. */
  | { type: "shown" }
  | { type: "drained" }
  | { type: "post"; id: number; request: PortalRequest }
  | { type: "access"; access: Access }
  | { type: "wait"; waits: readonly Wait[] }
  | { type: "error"; stack: string; requestId: string | undefined };

export interface LoadData {
  /** The file's name in errors. */
  name: string;
  /** A descriptor that is open for reading until the load ends or takes too long. */
  fd: number;
  size: number;
  /** Maximum bytes of memory for the load, in addition to what an idle loader thread takes. */
  maxBytes: number;
}

export interface LoadedSnapshot {
  image: SharedArrayBuffer;
  file: SnapshotFile;
  /** What an operator should know about the file. */
  warnings: string[];
}

export type FromLoad =
  | { type: "progress"; rows: number }
  | ({ type: "loaded" } & LoadedSnapshot)
  | FailedLoad;

export interface FailedLoad {
  type: "failed";
  /** Whether the file is taken to be at fault, and not the system. */
  isRefused: boolean;
  /** Whether the thread may load the next file. It may not if, for example, its memory may be full or damaged. */
  isThreadFit: boolean;
  /** A DataError's subject, found and expected; if the system is at fault, the file's name and the reason. */
  words: string[];
}
