import { createServer, type Server, type Socket } from "node:net";
import { createInterface } from "node:readline";
import { after } from "node:test";
import { createServer as createTlsServer } from "node:tls";
import { listening } from "./connection.ts";

/** The server accepts mail, or has faults that a test chooses. */

const key = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgufyoFBcRSa9vDBQu
vTTJkostCQhmYENIVOXzDZJ15/qhRANCAAQdZlBGUpZ6YxXt/ehxPRrmJ7DghQCW
YSihhWc2ZX1dSltHHLwWYHjEH4arNspeXJt0VcpyW0khs11QlWQdEgx7
-----END PRIVATE KEY-----
`;
const cert = `-----BEGIN CERTIFICATE-----
MIIBmzCCAUGgAwIBAgIUdoXbyc84/jaQrVdne74ijeeDFp0wCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMjAwNDgxMloYDzIxMjYxMDI5
MDA0ODEyWjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAAQdZlBGUpZ6YxXt/ehxPRrmJ7DghQCWYSihhWc2ZX1dSltHHLwWYHjE
H4arNspeXJt0VcpyW0khs11QlWQdEgx7o28wbTAdBgNVHQ4EFgQUYI5G3V0Pb/Q/
K5/KkcTqUdWHzW8wHwYDVR0jBBgwFoAUYI5G3V0Pb/Q/K5/KkcTqUdWHzW8wDwYD
VR0TAQH/BAUwAwEB/zAaBgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEwCgYIKoZI
zj0EAwIDSAAwRQIgUZx16CS4VarroGc6umQVdem9EJrMRxDr0nrPm+wiB8sCIQCK
RCqnZ9UboGPqdwW7LgIVi2HGOA2tMaDuIVyzlNfu7w==
-----END CERTIFICATE-----
`;
export const selfSigned = { key, cert };

interface Mail {
  from: string;
  to: string;
  /** Lines end with LF. */
  data: string;
}

/** undefined for no answer. @param word the command's first word */
export type Answers = (word: string, line: string) => string | undefined;

const healthy: Record<string, string> = {
  EHLO: "250-mail.example.com\r\n250-STARTTLS\r\n250 AUTH PLAIN",
  AUTH: "235 2.7.0 accepted",
  DATA: "354 go on",
  ".": "250 2.0.0 taken",
  QUIT: "221 bye",
};
export const takesAll: Answers = (word) => healthy[word] ?? "250 2.1.0 ok";

export class SmtpServer {
  readonly mails: Mail[] = [];
  readonly lines: string[] = [];
  readonly sockets = new Set<Socket>();
  answers: Answers = takesAll;
  greeting = "220 mail.example.com\r\n";
  readonly #server: Server;
  port = 0;

  private constructor(isSecure: boolean) {
    const serve = (socket: Socket) => this.#serve(socket);
    this.#server = isSecure ? createTlsServer(selfSigned, serve) : createServer(serve);
    this.#server.on("connection", (socket: Socket) => {
      this.sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => this.sockets.delete(socket));
    });
    this.#server.on("tlsClientError", () => {});
  }

  static async open(isSecure = false): Promise<SmtpServer> {
    const server = new SmtpServer(isSecure);
    server.port = await listening(server.#server);
    after(() => {
      for (const socket of server.sockets) socket.destroy();
      server.#server.close();
    });
    return server;
  }

  url(login = ""): string {
    return `smtp://${login}127.0.0.1:${this.port}`;
  }

  #serve(socket: Socket): void {
    socket.on("error", () => {});
    socket.write(this.greeting);
    let mail: Mail = { from: "", to: "", data: "" };
    let isData = false;
    const lines = createInterface({ input: socket });
    // These errors repeat the socket's errors, which are handled elsewhere.
    lines.on("error", () => {});
    lines.on("line", (line) => {
      if (isData && line !== ".") {
        mail.data += `${line}\n`;
        return;
      }
      this.lines.push(line);
      const [word] = line.toUpperCase().split(/[ :]/);
      const answer = this.answers(word, line);
      isData = word === "DATA" && answer?.startsWith("354") === true;
      const [, address = ""] = /<(.*)>/.exec(line) ?? [];
      if (word === "MAIL") mail = { from: address, to: "", data: "" };
      if (word === "RCPT") mail.to = address;
      if (word === "." && answer?.startsWith("250")) this.mails.push(mail);
      if (answer !== undefined && socket.writable) socket.write(`${answer}\r\n`);
      if (word === "QUIT") socket.end();
    });
  }
}
