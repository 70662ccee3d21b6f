/** What the control thread and the threads it starts tell each other. Buffers are shared, never copied. */

/** The images to serve, the current one first. */
export type Published = SharedArrayBuffer[];

export interface ServeData {
  host: string;
  port: number;
  keys: SharedArrayBuffer;
  limits: SharedArrayBuffer;
  images: Published;
}

export type ToServe = { type: "publish"; images: Published } | { type: "drain" } | { type: "close" };

export type FromServe =
  | { type: "listening" }
  | { type: "failed"; reason: string }
  /** The answer to `publish`: from now on no answer comes from an image that isn't among those. */
  | { type: "published" }
  | { type: "drained" }
  | { type: "error"; stack: string };

export interface LoadData {
  file: string;
}

export type FromLoad =
  | { type: "progress"; rows: number }
  | { type: "loaded"; image: SharedArrayBuffer }
  | { type: "refused"; reason: string };
