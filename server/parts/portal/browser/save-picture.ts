import { type ComponentChildren, render } from "preact";
import { getFile } from "./api.ts";
import { context } from "./context.ts";

/** Saves files: pictures of a card's drawings, with a title, a sentence and the source, and tables as CSV. */

interface Caption {
  title: string;
  sentence: string;
  source: string;
  isSample: boolean;
}

const margin = 24;
export const drawingWidth = 940;
const sample = {
  text: "Synthetic sample: nothing here is real.",
  fill: "#fff1c7",
  ink: "#4a3600",
  height: 34,
};
const lineHeight = 20;
const font = "system-ui, sans-serif";
/** Maximum share of the available width for a line of text. The rest is for machines with wider fonts. */
const fullLine = 0.94;
const pngScale = 2;
const space = "http://www.w3.org/2000/svg";
/** The style properties to copy into a saved drawing, because a file has no style sheet. */
const properties = [
  ...["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-opacity", "opacity"],
  ...["paint-order", "font-size", "font-weight", "text-anchor"],
];

export type PictureFormat = "svg" | "png";

/** Draws something outside the page's view, always in light colours. `pictureOf` removes it. */
export async function drawnIn(card: Element, children: ComponentChildren): Promise<HTMLElement> {
  const host = document.createElement("div");
  host.className = "for-saving unseen";
  host.style.cssText = `position: fixed; left: -${2 * drawingWidth}px; width: ${drawingWidth}px; color-scheme: light; color: var(--ink); background: var(--card)`;
  card.append(host);
  render(children, host);
  // Drawings appear at the second rendering; see `useDrawn`.
  await new Promise((done) => setTimeout(done));
  return host;
}

/** @param host an element with the drawings: SVG elements of the class `drawing` */
export async function pictureOf(host: Element, format: PictureFormat, caption: Caption): Promise<Blob> {
  const picture = standalone(host, caption);
  try {
    await bringIn(picture);
  } finally {
    render(null, host);
    host.remove();
  }
  const text = new XMLSerializer().serializeToString(picture);
  return format === "svg" ? new Blob([text], { type: "image/svg+xml" }) : pngOf(text, picture);
}

function withAttributes(element: SVGElement, attributes: Record<string, string | number>): SVGElement {
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  return element;
}

const element = (name: string, attributes: Record<string, string | number>) =>
  withAttributes(document.createElementNS(space, name), attributes);

function standalone(host: Element, { title, sentence, source, isSample }: Caption): SVGElement {
  const drawings = [...host.querySelectorAll<SVGSVGElement>("svg.drawing")];
  const { color, backgroundColor } = getComputedStyle(host);
  const width = drawingWidth + 2 * margin;
  const parts: SVGElement[] = [];
  let y = margin;
  const write = (text: string, size: number, weight = 400, opacity = 1, fill = color) => {
    if (text === "") return;
    for (const line of linesOf(text, drawingWidth, size, weight)) {
      y += lineHeight;
      const style = { fill, "font-size": size, "font-weight": weight, "fill-opacity": opacity };
      const text = element("text", { x: margin, y, ...style });
      text.append(line);
      parts.push(text);
    }
    y += 6;
  };
  if (isSample) {
    parts.push(element("rect", { width, height: sample.height, fill: sample.fill }));
    y = sample.height / 2 - lineHeight + 5;
    write(sample.text, 14, 650, 1, sample.ink);
    y = sample.height + margin / 2;
  }
  write(title, 18, 650);
  write(sentence, 14);
  y += 8;
  for (const drawing of drawings) {
    const { left, width, height } = drawing.getBoundingClientRect();
    const x = margin + left - host.getBoundingClientRect().left;
    parts.push(withAttributes(styledCopy(drawing), { x, y, width, height }));
    y += height + 8;
  }
  write(source, 12, 400, 0.75);
  // The height is whole, because a PNG has whole pixels.
  const height = Math.ceil(y + margin / 2);
  const viewBox = `0 0 ${width} ${height}`;
  const picture = element("svg", { xmlns: space, width, height, viewBox, "font-family": font });
  picture.append(element("rect", { width, height, fill: backgroundColor }), ...parts);
  return picture;
}

let pen: CanvasRenderingContext2D | null | undefined;

/** Width of a line of text in a picture, in pixels. */
export function widthOf(text: string, size: number, weight = 400): number {
  pen ??= document.createElement("canvas").getContext("2d");
  if (pen) pen.font = `${weight} ${size}px ${font}`;
  return pen?.measureText(text).width ?? 0;
}

/** Breaks a text into lines that are at most `width` pixels wide. Only a word that is longer than a line is broken. */
export function linesOf(text: string, width: number, size: number, weight = 400): string[] {
  const fits = (line: string) => widthOf(line, size, weight) <= fullLine * width;
  const lines = [""];
  for (const word of text.split(/\s+/)) {
    const longer = `${lines.at(-1)} ${word}`.trimStart();
    if (fits(longer)) lines[lines.length - 1] = longer;
    else if (fits(word)) lines.push(word);
    else
      for (const letter of ` ${word}`)
        if (fits(lines.at(-1) + letter)) lines[lines.length - 1] = (lines.at(-1) + letter).trimStart();
        else lines.push(letter.trimStart());
  }
  return lines;
}

function styledCopy(drawing: SVGSVGElement): SVGSVGElement {
  const copy = drawing.cloneNode(true) as SVGSVGElement;
  const [from, to] = [drawing, copy].map((one) => [one, ...one.querySelectorAll("*")]);
  for (const [i, one] of from.entries()) {
    const style = getComputedStyle(one);
    if (style.display === "none") to[i].remove();
    for (const property of properties) to[i].setAttribute(property, style.getPropertyValue(property));
    to[i].removeAttribute("class");
  }
  return copy;
}

async function bringIn(picture: SVGElement): Promise<void> {
  const uses = [...picture.querySelectorAll("use")];
  if (uses.length === 0) return;
  const file = await (await getFile(context.settings.states)).text();
  const outlines = new DOMParser().parseFromString(file, "image/svg+xml");
  for (const use of uses) {
    const { hash } = new URL(use.getAttribute("href") ?? "", location.href);
    const path = outlines.querySelector(`path${hash}`)?.cloneNode();
    if (!(path instanceof SVGElement)) continue;
    path.removeAttribute("id");
    for (const { name, value } of use.attributes) if (name !== "href") path.setAttribute(name, value);
    use.replaceWith(path);
  }
}

async function pngOf(svg: string, picture: SVGElement): Promise<Blob> {
  const [width, height] = ["width", "height"].map((name) => pngScale * Number(picture.getAttribute(name)));
  const image = new Image(width, height);
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode().catch(() => {
    throw new Error("this browser can't draw it; try SVG");
  });
  const canvas = document.createElement("canvas");
  Object.assign(canvas, { width, height });
  canvas.getContext("2d")?.drawImage(image, 0, 0, width, height);
  const blob = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, "image/png"));
  if (blob === null) throw new Error("this browser can't make one; try SVG");
  return blob;
}

export type FigureCell = string | number | null;

/** Writes CSV by RFC 4180. Numbers have at most two decimals. */
export function csvOf(lines: readonly (readonly FigureCell[])[]): Blob {
  const field = (cell: FigureCell) => {
    const text = String((typeof cell === "number" ? Math.round(100 * cell) / 100 : cell) ?? "");
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return new Blob(
    lines.map((line) => `${line.map(field).join(",")}\r\n`),
    { type: "text/csv" },
  );
}

export function save(name: string, content: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  // The browser reads the content after the click, so the URL is kept for a while.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
