import { useCallback, useRef, useState } from "preact/hooks";

/** Measures elements of a page, and places labels within a width. */

/**
 * Width in pixels to draw for paper. Browsers don't measure paper, so this fits most, and a style makes it smaller for
 * narrow paper.
 */
const paperWidth = 640;

/** Measures an element by a ref. The component updates when the width, in pixels, changes, and before and after printing. */
export function useWidth(): [(element: HTMLElement | null) => void, number] {
  const [width, setWidth] = useState(0);
  const stop = useRef<(() => void) | null>(null);
  const ref = useCallback((element: HTMLElement | null) => {
    stop.current?.();
    stop.current = null;
    if (element === null) return;
    const measure = () => setWidth(element.clientWidth);
    const narrow = () => setWidth(Math.min(element.clientWidth, paperWidth));
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    addEventListener("beforeprint", narrow);
    addEventListener("afterprint", measure);
    stop.current = () => {
      observer.disconnect();
      removeEventListener("beforeprint", narrow);
      removeEventListener("afterprint", measure);
    };
  }, []);
  return [ref, width];
}

/**
 * Places the labels of a scale so that none is cut off. A label that would overlap the one before it is left out.
 *
 * @param labels each with the middle of its text, in pixels, ascending
 * @param letterWidth width in pixels of a character
 * @returns the labels with their places, and whether none was left out
 */
export function placedLabels<Label extends { at: number; text: string }>(
  labels: readonly Label[],
  width: number,
  letterWidth: number,
) {
  const placed: (Label & { end: number })[] = [];
  for (const label of labels) {
    const half = (label.text.length * letterWidth) / 2;
    const at = Math.max(half, Math.min(label.at, width - half));
    if (at - half > (placed.at(-1)?.end ?? Number.NEGATIVE_INFINITY) + letterWidth)
      placed.push({ ...label, at, end: at + half });
  }
  return { placed, isWhole: placed.length === labels.length };
}
