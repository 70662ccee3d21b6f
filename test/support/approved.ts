import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { FakeElement } from "./fake-dom.ts";

/**
 * Compares texts with approved ones, so that no change goes unseen. After a change that is
 * meant, `APPROVE=1 npm test` writes the files anew, and their difference shows what has changed.
 */

const folder = join(import.meta.dirname, "../data/approved");

export function assertApproved(name: string, text: string): void {
  const path = join(folder, name);
  if (process.env.APPROVE === "1") {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    return;
  }
  const [approved, lines] = [readFileSync(path, "utf8").split("\n"), text.split("\n")];
  const at = lines.findIndex((line, i) => line !== approved[i]);
  if (at < 0 && lines.length === approved.length) return;
  const from = at < 0 ? lines.length : at;
  const around = (all: readonly string[]) => all.slice(Math.max(0, from - 2), from + 3).join("\n");
  assert.fail(
    `test/data/approved/${name}, line ${from + 1}, has\n${around(approved)}\nand now it is\n${around(lines)}\n` +
      "If that is meant: APPROVE=1 npm test, and read the difference.",
  );
}

/** A line for each element and text below an element, indented by depth. */
export function outlineOf(element: FakeElement, depth = 0): string {
  const indent = " ".repeat(depth);
  return Array.from(element.childNodes, (node) => {
    if (!("localName" in node)) return `${indent}${JSON.stringify(node.textContent)}\n`;
    const child = node as FakeElement;
    const attributes = child.attributes.map(({ name, value }) => ` ${name}=${JSON.stringify(value)}`);
    const styles = Object.entries(child.style).filter(([, value]) => value !== "");
    if (styles.length > 0)
      attributes.push(` style="${styles.map(([name, value]) => `${name}: ${value}`).join("; ")}"`);
    return `${indent}<${child.localName}${attributes.join("")}>\n${outlineOf(child, depth + 1)}`;
  }).join("");
}
