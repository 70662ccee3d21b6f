import { isIP } from "node:net";
import { createTransport, type Transporter } from "nodemailer";
import { maxTryMs } from "./channels.ts";
import { type Email, UnknownRecipient } from "./email.ts";
import { reachOf } from "./special-addresses.ts";

/** Sends e-mails through the operator's SMTP server, each within a deadline. */

export interface MailSettings {
  /** URL of the SMTP server. It may contain a password. */
  smtpUrl: string;
  from: { name: string; address: string };
}

export class Mailer {
  readonly #transport: Transporter;
  readonly #from: MailSettings["from"];
  readonly #maxMs: number;

  constructor({ smtpUrl, from }: MailSettings, maxMs = maxTryMs) {
    const { protocol, hostname, port, username, password } = new URL(smtpUrl);
    const host = hostname.replace(/^\[|\]$/g, "");
    const isSecure = protocol === "smtps:";
    const isLoopback = host === "localhost" || (isIP(host) !== 0 && reachOf(host) === "loopback");
    const hasLogin = username !== "";
    this.#transport = createTransport({
      host,
      // A URL without a port gives 0. The library replaces 0 by 465 with TLS from the start, and otherwise by 587.
      port: Number(port),
      secure: isSecure,
      // A mail server on this machine is used without STARTTLS, because its certificate is usually self-signed. With
      // other mail servers, a login needs TLS.
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
   * @returns the server's status code
   * @throws UnknownRecipient; the signal's reason after an abort; Error at the deadline and after other failures
   */
  async send({ to, subject, text, id }: Email, signal?: AbortSignal): Promise<string> {
    const late = new AbortController();
    const giveUp = () => late.abort(new Error(`the SMTP server hasn't accepted it in ${this.#maxMs} ms`));
    const deadline = setTimeout(giveUp, this.#maxMs);
    const end = signal === undefined ? late.signal : AbortSignal.any([late.signal, signal]);
    try {
      const { response } = await this.#transport.sendMail({
        from: this.#from,
        to: { name: "", address: to },
        subject,
        text,
        messageId: `<${id}@${this.#from.address.split("@")[1]}>`,
        headers: { "Auto-Submitted": "auto-generated" },
        signal: end,
      });
      return (response ?? "").slice(0, 3);
    } catch (error) {
      if (end.aborted) throw end.reason;
      if (isRefusal(error)) throw new UnknownRecipient(error.message);
      throw error;
    } finally {
      clearTimeout(deadline);
    }
  }
}

function isRefusal(error: unknown): error is Error {
  if (!(error instanceof Error && "command" in error && "responseCode" in error)) return false;
  const { command, responseCode } = error;
  return command === "RCPT TO" && typeof responseCode === "number" && responseCode >= 500;
}
