/** What the control thread and its serving threads tell each other. Buffers are shared, never copied. */

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
  | { type: "drained" }
  | { type: "error"; stack: string };

export interface LoadData {
  file: string;
}

export type FromLoad = { type: "loaded"; image: SharedArrayBuffer } | { type: "refused"; reason: string };
