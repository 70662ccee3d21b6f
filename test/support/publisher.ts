import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { after } from "node:test";
import { listening } from "./connection.ts";

export type Answer = (request: IncomingMessage, response: ServerResponse) => void;

export class Publisher {
  readonly #server = createServer((request, response) => {
    this.asked.push(request.url ?? "");
    const answers = this.#answers.get(request.url ?? "") ?? [status(404)];
    // The last answer is repeated.
    const answer = answers.length > 1 ? answers.shift() : answers[0];
    answer?.(request, response);
  });
  readonly #answers = new Map<string, Answer[]>();
  readonly asked: string[] = [];
  origin = "";

  static async start(host = "127.0.0.1"): Promise<Publisher> {
    const publisher = new Publisher();
    publisher.origin = `http://${host}:${await listening(publisher.#server, host)}`;
    after(() => {
      publisher.#server.close();
      publisher.#server.closeAllConnections();
    });
    return publisher;
  }

  /** Successive requests for the path get these answers. @returns the path's URL */
  answers(path: string, ...answers: Answer[]): string {
    this.#answers.set(path, answers);
    return this.origin + path;
  }
}

export function file(content: Buffer | string, headers: Record<string, string> = {}): Answer {
  return (_, response) => void response.writeHead(200, headOf(content, headers)).end(content);
}

function headOf(content: Buffer | string, headers: Record<string, string> = {}) {
  return { "content-type": "text/csv", "content-length": String(Buffer.byteLength(content)), ...headers };
}

const waiting: ServerResponse[] = [];
/**
 * Cuts the connections on which an answer was sent in part. Call it after the client has received the first bytes,
 * because an earlier cut may lose them.
 */
export function cutConnections(): void {
  for (const response of waiting.splice(0)) response.destroy();
}

/** After the first bytes, the answer stalls until `cutConnections` is called. */
export function part(content: string, bytes: number): Answer {
  return (_, response) => {
    waiting.push(response);
    response.writeHead(200, headOf(content)).write(content.slice(0, bytes));
  };
}

/** The connection ends after the first bytes, as when a server is stopped. */
export function ended(content: string, bytes: number): Answer {
  const whole = part(content, bytes);
  return (request, response) => {
    whole(request, response);
    response.socket?.end();
  };
}

export function status(code: number, headers: Record<string, string> = {}): Answer {
  return (_, response) => void response.writeHead(code, headers).end("x");
}

export function redirect(location: string): Answer {
  return status(302, { location });
}

interface CatalogueFile {
  url: string;
  temporal?: string;
  modified?: string;
}

/** @param totals files by Geography and Service */
export function catalogue(files: CatalogueFile[], totals: CatalogueFile[] = []): string {
  const distribution = (title: string, listed: CatalogueFile[]) =>
    listed.map(({ url, temporal, modified }) => ({
      "@type": "dcat:Distribution",
      downloadURL: url,
      mediaType: "text/csv",
      modified,
      resourcesAPI: "https://data.example/data-api/v1/dataset-resources/1",
      temporal,
      title: `${title} : ${temporal?.slice(0, 10)}`,
    }));
  const [releasesTitle, totalsTitle] = ["Provider", "Geography"].map(
    (by) => `Medicare Outpatient Hospitals - by ${by} and Service`,
  );
  return JSON.stringify({
    "@context": "https://project-open-data.cio.gov/v1.1/schema/catalog.jsonld",
    "@type": "dcat:Catalog",
    conformsTo: "https://project-open-data.cio.gov/v1.1/schema",
    dataset: [
      {
        "@type": "dcat:Dataset",
        title: totalsTitle,
        distribution: distribution(totalsTitle, totals),
      },
      {
        "@type": "dcat:Dataset",
        accrualPeriodicity: "R/P1Y",
        distribution: [
          {
            "@type": "dcat:Distribution",
            accessURL: "https://data.example/data-api/v1/dataset/1/data",
            format: "API",
            title: `${releasesTitle} : 2024-01-01`,
          },
          ...distribution(releasesTitle, files),
        ],
        modified: "2026-06-01",
        publisher: { "@type": "org:Organization", name: "Centers for Medicare & Medicaid Services" },
        temporal: "2015-01-01/2024-12-31",
        title: releasesTitle,
      },
    ],
  });
}
