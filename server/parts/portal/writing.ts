import { hash } from "node:crypto";
import { compress } from "../../serving/negotiation.ts";
import type { MakeWriting } from "../../serving/pages-part.ts";
import type { PageSettings } from "./browser/context.ts";
import { PageAnswers } from "./page-answers.ts";
import { PageFiles } from "./page-files.ts";
import { write } from "./written.ts";

/** Writes the numbers for an address into a page, in the page thread. */

/** Maximum bytes in UTF-8 of a character of a text. */
const maxLetterBytes = 3;
/** Brotli's quality for pages. A page of 48 KB takes 0.53 ms and has 11.0 KB. With 3 it would take 0.65 ms and have 10.9 KB. */
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
      // Of the compressed page, because it is a quarter as long. Each coding has a tag of its own.
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
 * Encodes pieces of a page as UTF-8, in memory that the next page overwrites. `Buffer.from` would take twice as long, and
 * pieces joined as a text several times as long, because one letter beyond Latin-1 makes all of a text slow.
 */
function encode(pieces: readonly string[]): Uint8Array {
  const most = pieces.reduce((sum, { length }) => sum + maxLetterBytes * length, 0);
  if (scratch.length < most) scratch = Buffer.allocUnsafeSlow(most);
  let length = 0;
  for (const piece of pieces) length += scratch.write(piece, length);
  return scratch.subarray(0, length);
}
