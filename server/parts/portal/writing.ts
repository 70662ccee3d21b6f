import { hash } from "node:crypto";
import { compress } from "../../serving/negotiation.ts";
import type { MakeWriting } from "../../serving/pages-part.ts";
import type { PageSettings } from "./browser/context.ts";
import { PageAnswers } from "./page-answers.ts";
import { PageFiles } from "./page-files.ts";
import { write } from "./written.ts";

/** Writes the numbers for a URL into a page, in the page thread. */

/** Maximum UTF-8 bytes per UTF-16 code unit of a string. */
const maxLetterBytes = 3;
/** Brotli's quality for pages. It compresses 48 KB to 11.0 KB in 0.53 ms. Quality 3 gives 10.9 KB, and takes 0.65 ms. */
const pageQuality = 2;

export const writing: MakeWriting = (read) => {
  const answers = new PageAnswers(read);
  let files = new PageFiles([]);
  return {
    write({ path, query, coding }) {
      const template = files.find(path)?.template;
      if (template === undefined) throw new Error(`the portal has no page with numbers at ${path}`);
      const settings: PageSettings = JSON.parse(template.settings);
      const { head, body: drawn, isMissing } = write(path, query, settings, answers);
      const { parts } = template;
      const encoded = encode([parts[0], head, parts[1], ...drawn, parts[2]]);
      const body = coding === "identity" ? new Uint8Array(encoded) : compress(encoded, coding, pageQuality);
      // The hash is of the compressed page, because that is a quarter as long. So each coding has its own tag.
      return { body, etag: `"${hash("sha256", body, "base64url").slice(0, 22)}"`, isMissing };
    },
    forget: () => answers.forget(),
    show(shown) {
      files = new PageFiles(shown);
    },
  };
};

let scratch = Buffer.alloc(0);

/**
 * Encodes the pieces of a page as UTF-8, in memory that the next page overwrites. Each piece is encoded alone, because a
 * single character beyond Latin-1 makes the encoding of a whole string slow.
 */
function encode(pieces: readonly string[]): Uint8Array {
  const most = pieces.reduce((sum, { length }) => sum + maxLetterBytes * length, 0);
  if (scratch.length < most) scratch = Buffer.allocUnsafeSlow(most);
  let length = 0;
  for (const piece of pieces) length += scratch.write(piece, length);
  return scratch.subarray(0, length);
}
