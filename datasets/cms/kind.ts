const binaries: readonly [start: string, kind: string][] = [
  ["1f8b", "a gzip file"],
  ["504b0304", "a zip archive"],
  ["504b0506", "an empty zip archive"],
  ["425a68", "a bzip2 file"],
  ["fd377a585a00", "an xz file"],
  ["28b52ffd", "a zstd file"],
  ["377abcaf271c", "a 7z archive"],
  ["d0cf11e0a1b11ae1", "an Excel workbook (xls)"],
  ["50415231", "a Parquet file"],
  ["25504446", "a PDF file"],
  ["fffe0000", "UTF-32 text"],
  ["fffe", "UTF-16 text"],
  ["feff", "UTF-16 text"],
];
const separators: readonly [separator: string, name: string][] = [
  [";", "semicolons"],
  ["\t", "tabs"],
  ["|", "vertical bars"],
];

/**
 * Names the kind of a file that isn't comma-separated text, such as "a gzip file". Returns undefined if the file may be
 * CSV.
 *
 * @param start the file's first bytes; a workbook is recognized by the file names in a zip archive
 */
export function foreignKind(start: Buffer): string | undefined {
  const hexadecimal = start.toString("hex", 0, 16);
  const kind = binaries.find(([bytes]) => hexadecimal.startsWith(bytes))?.[1];
  if (
    kind === "a zip archive" &&
    /xl\/(workbook|worksheets|_rels|styles|theme)/.test(start.toString("latin1"))
  )
    return "an Excel workbook (xlsx)";
  if (kind !== undefined) return kind;
  if (start.includes(0)) {
    const [first, second, third, fourth] = start;
    const alternates = (second === 0 && fourth === 0) !== (first === 0 && third === 0);
    return alternates ? "UTF-16 text" : "a binary file";
  }
  const text = start
    .toString("latin1")
    .replace(/^\xef\xbb\xbf/, "")
    .trimStart();
  if (/^[[{]/.test(text)) return "JSON";
  if (/^<(!doctype html|html|head|body)\b/i.test(text)) return "an HTML page";
  if (text.startsWith("<")) return "XML";
  const [header] = text.split(/[\r\n]/, 1);
  const count = (separator: string) => header.split(separator).length;
  const found = separators.find(([separator]) => count(separator) > count(","));
  return found === undefined ? undefined : `fields separated by ${found[1]}`;
}

export function wayToCsv(kind: string): string {
  if (/UTF-(?:16|32)/.test(kind)) return "save it as UTF-8 (in Excel: CSV UTF-8)";
  if (kind.includes("Excel"))
    return "take CMS's CSV file, or save the sheet as CSV UTF-8 with its codes as text";
  if (kind.startsWith("fields separated")) return "take CMS's CSV file, or save it with commas";
  return /gzip|zip archive|bzip2|xz|zstd|7z/.test(kind)
    ? "unpack it, and import the CSV file inside"
    : "take CMS's CSV file";
}
