import { setImmediate } from "node:timers/promises";

/** Splits long work into pieces, so that a thread does its other work between them. */

/** Milliseconds after which a piece ends with its current step. */
export const pieceMs = 0.25;

/**
 * @param steps work that yields after each step
 * @param onPiece called after each piece with its milliseconds
 * @param nowMs milliseconds of a steady clock
 */
export async function inPieces(
  steps: Iterator<void, unknown>,
  onPiece: (tookMs: number) => void,
  nowMs = () => performance.now(),
): Promise<void> {
  for (let isDone: boolean | undefined = false; !isDone; ) {
    await setImmediate();
    const begunMs = nowMs();
    do isDone = steps.next().done;
    while (!isDone && nowMs() - begunMs < pieceMs);
    onPiece(nowMs() - begunMs);
  }
}
