import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { money } from "../../../shared/browser/format.ts";
import { html } from "../../../shared/browser/html.ts";

/** Shared parts of pictures: the width, a logarithmic dollar scale, and notes by pointer or arrow keys. */

/** A ref for an element, and the element's width in pixels. The component updates when the width changes. */
export function useWidth(): [(element: HTMLElement | null) => void, number] {
  const [width, setWidth] = useState(0);
  const observer = useRef<ResizeObserver | null>(null);
  const ref = useCallback((element: HTMLElement | null) => {
    observer.current?.disconnect();
    if (element === null) return;
    setWidth(element.clientWidth);
    observer.current = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.current.observe(element);
  }, []);
  return [ref, width];
}

/** A logarithmic scale of some amounts, with a margin even if all are equal. */
export function dollarScale(amounts: readonly number[], from: number, to: number) {
  const [low, high] = [Math.min(...amounts), Math.max(...amounts)];
  const air = low === high ? 1.5 : (high / low) ** 0.03;
  return d3.scaleLog([low / air, high * air], [from, to]);
}

/** Round amounts on the scale, such as $2,000. @param most maximum number of amounts */
function dollarTicks(scale: d3.ScaleLogarithmic<number, number>, most: number): number[] {
  const all = scale.ticks();
  for (const digits of ["125", "13", "1"]) {
    const ticks = all.filter((tick) => digits.includes(String(tick)[0]));
    if (ticks.length >= 3 && ticks.length <= most) return ticks;
  }
  const [low, high] = scale.domain();
  return d3.ticks(low, high, Math.min(4, most));
}

/** Width in pixels of a character in a picture's small text. */
export const letterWidth = 7;

/** Round amounts with the places of their texts, so that none is cut or overlaps. */
export function placedTicks(scale: d3.ScaleLogarithmic<number, number>, most: number, width: number) {
  const placed: { tick: number; at: number; end: number }[] = [];
  for (const tick of dollarTicks(scale, most)) {
    const half = (money(tick).length * letterWidth) / 2;
    const at = Math.max(half, Math.min(scale(tick), width - half));
    if (at - half > (placed.at(-1)?.end ?? Number.NEGATIVE_INFINITY) + letterWidth)
      placed.push({ tick, at, end: at + half });
  }
  return placed;
}

interface Note {
  /** Pixels within the picture. */
  x: number;
  y: number;
  lines: readonly string[];
}

/** The width of a drawing, and the part of it whose numbers are shown: for `Steps`. */
export function useSteps() {
  const [measured, width] = useWidth();
  const [active, setActive] = useState<number | null>(null);
  return { measured, width, active, setActive };
}

interface StepsProps extends ReturnType<typeof useSteps> {
  label: string;
  height: string;
  /** Number of parts to reach with the arrow keys. */
  count: number;
  noteOf: (part: number) => Note;
  choose?: (part: number) => void;
  children: preact.ComponentChildren;
}

/** A drawing whose parts show their numbers on hover and by the arrow keys. */
export function Steps(props: StepsProps) {
  const { label, height, count, active, setActive, noteOf, choose, width, measured, children } = props;
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (step !== undefined && count > 0) {
      event.preventDefault();
      setActive(active === null ? (step === 1 ? 0 : count - 1) : (active + step + count) % count);
    } else if (event.key === "Escape") setActive(null);
    else if ((event.key === "Enter" || event.key === " ") && active !== null && choose) {
      event.preventDefault();
      choose(active);
    }
  };
  // Another answer may have fewer parts.
  const part = active !== null && active < count ? active : null;
  useEffect(() => {
    if (active !== null && active >= count) setActive(null);
  }, [active, count]);
  const note = part === null ? null : noteOf(part);
  const left = note && Math.min(Math.max(note.x, 95), Math.max(95, width - 95));
  return html`<div
    class="picture"
    role="group"
    aria-label=${`${label} The arrow keys go through the numbers${choose ? ", Enter chooses" : ""}.`}
    tabindex="0"
    ref=${measured}
    style=${{ height }}
    onKeyDown=${onKeyDown}
    onBlur=${() => setActive(null)}
    onPointerLeave=${() => setActive(null)}
  >
    ${width > 0 && children}
    <div class="note" role="status" hidden=${note === null} style=${note ? { left: `${left}px`, top: `${note.y}px` } : {}}>
      ${note?.lines.map((line, i) => (i === 0 ? html`<b>${line}</b>` : html`<span>${line}</span>`))}
    </div>
  </div>`;
}
