import type { Socket } from "node:net";
import { isatty, ReadStream } from "node:tty";
import pino, { type Logger } from "pino";

/** Maximum bytes buffered for a slow reader. Further lines are dropped. */
export const maxWaitingBytes = 2 ** 20;
/** Maximum wait at exit for a reader that has stopped reading. */
const maxFlushMs = 500;
const flushStepMs = 5;

/**
 * Writes lines to stdout or stderr without waiting for a reader. A line is lost if the reader is gone or slow, or the
 * disk is full. A terminal is written through a ReadStream, because Node's own streams would wait for a stopped terminal.
 */
export class Output {
  readonly isTerminal: boolean;
  readonly #stream: Socket;
  readonly #onDrop: () => void;

  constructor(descriptor: 1 | 2, onDrop: () => void) {
    const standard = descriptor === 1 ? process.stdout : process.stderr;
    this.isTerminal = isatty(descriptor);
    this.#stream = this.isTerminal ? new ReadStream(descriptor) : standard;
    this.#onDrop = onDrop;
    // Each write reports its own error, but an error without a listener would end the process. `standard` gets a
    // listener, too, because Node itself writes warnings to stderr.
    for (const stream of [this.#stream, standard]) stream.on("error", () => {});
  }

  write(line: string): void {
    if (this.#stream.writableLength + line.length > maxWaitingBytes) {
      this.#onDrop();
      return;
    }
    this.#stream.write(line, (error) => {
      if (error) this.#onDrop();
    });
  }

  /** Waits until everything is written, or the reader has stopped reading. */
  async flush(): Promise<void> {
    for (let waiting = -1, stillMs = 0; this.#stream.writableLength > 0 && stillMs < maxFlushMs; ) {
      stillMs = waiting === this.#stream.writableLength ? stillMs + flushStepMs : 0;
      waiting = this.#stream.writableLength;
      await new Promise((resolve) => setTimeout(resolve, flushStepMs));
    }
  }
}

export function logTo(output: Output): Logger {
  const write = (line: string) => output.write(output.isTerminal ? readable(line) : line);
  const formatters = { level: (label: string) => ({ level: label }) };
  return pino({ base: null, formatters, timestamp: pino.stdTimeFunctions.isoTime }, { write });
}

const isStack = (name: string, value: unknown): value is string =>
  name === "stack" && typeof value === "string";

/** Formats a JSON line of the log for a terminal. */
export function readable(line: string): string {
  const { level, time, msg, ...details } = JSON.parse(line);
  const grave = printable(String(level)).toUpperCase().padEnd(5);
  const words = Object.entries(details).map(([name, value]) =>
    isStack(name, value)
      ? `\n  ${value.split("\n").map(printable).join("\n  ")}`
      : ` ${name}=${shownValue(value)}`,
  );
  return `${printable(String(time))} ${grave} ${printable(String(msg ?? ""))}${words.join("")}\n`;
}

function shownValue(value: unknown): string {
  return typeof value === "string" && /^[!#-<>-~]+$/.test(value) ? value : printable(JSON.stringify(value));
}

/** Escapes characters that a terminal could take for control codes. */
function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}]/gu, (found) => `\\u{${found.codePointAt(0)?.toString(16)}}`);
}
