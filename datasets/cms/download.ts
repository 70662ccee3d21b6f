import type { IncomingHttpHeaders } from "node:http";
import { DataError } from "../../engine/index.ts";
import { type Download, download } from "../download.ts";
import type { Patience } from "../http.ts";

/** Limits and checks of downloads from CMS. */

/** An attempt is aborted after this time without receiving a byte. */
export const stallMs = 30_000;
/** Maximum bytes of a download. Releases have about 30 MB. */
const maxFileBytes = 2 ** 30;
const maxTries = 6;
/** Disk space to keep free for the snapshot. */
const spareBytes = 2 ** 24;
/** Content types that a CSV file can't have, such as a web page's. */
const foreignTypes =
  /^(text\/html|application\/(xhtml|json|xml|zip|gzip|pdf)|image\/|audio\/|video\/|multipart\/)/;

/** The caller's clock, and the function that receives messages for the user. */
export type Caller = Pick<Patience, "clock" | "say">;

export function cmsPatience({ clock, say }: Caller, maxTries: number): Patience {
  return { clock, say, maxTries, stallMs, leastBytes: 1 };
}

/** Downloads a release. @throws DataError when it can't be downloaded or written, or its content is wrong */
export function downloadRelease(
  url: string,
  path: string,
  { clock, say, onProgress, check }: Caller & Required<Pick<Download, "onProgress" | "check">>,
): Promise<void> {
  return download(url, path, {
    ...cmsPatience({ clock, say }, maxTries),
    ...{ maxBytes: maxFileBytes, spareBytes, whereElse: "--out names another folder", onProgress, check },
    checkHead: (headers) => checkType(url, headers),
  });
}

function checkType(url: string, headers: IncomingHttpHeaders): void {
  const type = (headers["content-type"] ?? "").trim().toLowerCase();
  if (foreignTypes.test(type)) throw new DataError(url, `a file of type ${type}`, "text/csv");
}
