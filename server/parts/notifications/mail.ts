import { isIP } from "node:net";
import { createTransport, type Transporter } from "nodemailer";
import type { MailSettings } from "../../shared/settings.ts";
import { specialPurposeOf } from "./addresses.ts";
import { type Letter, UnknownRecipient } from "./letter.ts";

/** One letter to an SMTP server, by the operator's settings: over by a deadline whatever that server does. */

const maxTryMs = 15_000;

export class Mailer {
  readonly #transport: Transporter;
  readonly #from: MailSettings["from"];
  readonly #maxMs: number;

  constructor({ smtpUrl, from }: MailSettings, maxMs = maxTryMs) {
    const { protocol, hostname, port, username, password } = new URL(smtpUrl);
    const host = hostname.replace(/^\[|\]$/g, "");
    const isSecure = protocol === "smtps:";
    const isLoopback = host === "localhost" || (isIP(host) !== 0 && specialPurposeOf(host) === "loopback");
    const hasLogin = username !== "";
    this.#transport = createTransport({
      host,
      port: port === "" ? (isSecure ? 465 : 587) : Number(port),
      secure: isSecure,
      // On this machine a certificate, mostly one that nobody has signed, proves nothing; elsewhere no password goes in the clear.
      ignoreTLS: isLoopback,
      requireTLS: hasLogin && !isLoopback,
      ...(hasLogin
        ? { auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) } }
        : {}),
      connectionTimeout: maxMs,
      greetingTimeout: maxMs,
      socketTimeout: maxMs,
      socketCloseTimeout: 0,
      disableFileAccess: true,
      disableUrlAccess: true,
    });
    this.#from = from;
    this.#maxMs = maxMs;
  }

  /**
   * Hands a letter over to the server.
   *
   * @param signal gives it up, for an error as its reason
   * @returns the server's status code
   * @throws UnknownRecipient, or another Error when the server hasn't taken it by the deadline
   */
  async send({ to, subject, text, id }: Letter, signal?: AbortSignal): Promise<string> {
    const end = new AbortController();
    const giveUp = () => end.abort(signal?.reason);
    signal?.addEventListener("abort", giveUp);
    const late = () => end.abort(new Error(`the SMTP server hasn't taken it in ${this.#maxMs} ms`));
    const deadline = setTimeout(late, this.#maxMs);
    try {
      const { response } = await this.#transport.sendMail({
        from: this.#from,
        to: { name: "", address: to },
        subject,
        text,
        messageId: `<${id}@${this.#from.address.split("@")[1]}>`,
        headers: { "Auto-Submitted": "auto-generated" },
        signal: end.signal,
      });
      return (response ?? "").slice(0, 3);
    } catch (error) {
      if (end.signal.aborted) throw end.signal.reason;
      if (isRefusal(error)) throw new UnknownRecipient(error.message);
      throw error;
    } finally {
      clearTimeout(deadline);
      signal?.removeEventListener("abort", giveUp);
    }
  }
}

/** Whether the server has refused the recipient for good. */
function isRefusal(error: unknown): error is Error {
  if (!(error instanceof Error && "command" in error && "responseCode" in error)) return false;
  const { command, responseCode } = error;
  return command === "RCPT TO" && typeof responseCode === "number" && responseCode >= 500;
}
