import type { IncomingHttpHeaders } from "node:http";
import { DataError } from "../../engine/index.ts";
import { type Download, download } from "../download.ts";
import type { Patience } from "../http.ts";

/** A try is aborted if no byte arrives in an interval of this many milliseconds. */
export const stallMs = 30_000;
/** Releases have about 30 MB. */
export const maxFileBytes = 2 ** 30;
export const maxTries = 6;
const foreignTypes =
  /^(text\/html|application\/(xhtml|json|xml|zip|gzip|pdf)|image\/|audio\/|video\/|multipart\/)/;

export type Caller = Pick<Patience, "clock" | "say" | "proxyFor">;

export function cmsPatience({ clock, say, proxyFor }: Caller, maxTries: number): Patience {
  return { clock, say, proxyFor, maxTries, stallMs, leastBytes: 1 };
}

/** @throws DataError when the file can't be downloaded or written, or its content is wrong */
export function downloadFile(
  url: string,
  path: string,
  { onProgress, check, ...caller }: Caller & Required<Pick<Download, "onProgress" | "check">>,
): Promise<void> {
  return download(url, path, {
    ...cmsPatience(caller, maxTries),
    ...{ maxBytes: maxFileBytes, onProgress, check },
    checkHead: (headers) => checkType(url, headers),
  });
}

function checkType(url: string, headers: IncomingHttpHeaders): void {
  const type = (headers["content-type"] ?? "").trim().toLowerCase();
  if (foreignTypes.test(type)) throw new DataError(url, `a file of type ${type}`, "text/csv");
}
