/**
 * Just enough of a browser's document, window and address for Preact to draw a page in a test, to find what it has drawn,
 * and to click and type. It lays nothing out, and styles have no values but those of attributes.
 *
 * The packages for this don't fit. linkedom 0.18 calls the listener of an ancestor with the clicked element as `this`, so
 * that Preact misses the click, and its selects, checkboxes and details have no state. It takes 2.5 times the CPU time to
 * draw and to search a table, and 0.15 s to load. happy-dom 21 takes ten times, and 0.6 s.
 */

type Listener = (event: FakeEvent) => unknown;

class Listeners {
  readonly #all = new Map<string, Set<Listener>>();

  addEventListener(type: string, listener: Listener): void {
    this.#all.set(type, (this.#all.get(type) ?? new Set()).add(listener));
  }

  removeEventListener(type: string, listener: Listener): void {
    this.#all.get(type)?.delete(listener);
  }

  forget(): void {
    this.#all.clear();
  }

  hear(event: FakeEvent): void {
    event.currentTarget = this;
    for (const listener of [...(this.#all.get(event.type) ?? [])]) listener.call(this, event);
  }
}

export class FakeEvent {
  readonly type: string;
  target: unknown = null;
  currentTarget: unknown = null;
  defaultPrevented = false;
  button = 0;
  [detail: string]: unknown;

  constructor(type: string, details: object = {}) {
    this.type = type;
    Object.assign(this, details);
  }

  preventDefault(): void {
    this.defaultPrevented = true;
  }
}

/** Events that only their element hears. Preact listens for them by these names. */
const notBubbling = ["pointerenter", "pointerleave", "blur", "focus", "toggle"];

class FakeNode extends Listeners {
  readonly nodeType: number = 0;
  parentNode: FakeElement | null = null;
  readonly childNodes: FakeNode[] = [];

  get parentElement() {
    return this.parentNode;
  }

  get ownerDocument() {
    return fakeDocument;
  }

  get firstChild(): FakeNode | null {
    return this.childNodes[0] ?? null;
  }

  get nextSibling(): FakeNode | null {
    const all = this.parentNode?.childNodes ?? [];
    return all[all.indexOf(this) + 1] ?? null;
  }

  get textContent(): string {
    return this.childNodes.map((node) => node.textContent).join("");
  }

  contains(other: FakeNode | null): boolean {
    return other !== null && (other === this || this.contains(other.parentNode));
  }

  remove(): void {
    this.parentNode?.removeChild(this);
  }

  dispatchEvent(event: FakeEvent): boolean {
    event.target = this;
    if (notBubbling.includes(event.type)) this.hear(event);
    else for (let at: FakeNode | null = this; at !== null; at = at.parentNode) at.hear(event);
    if (!notBubbling.includes(event.type)) fakeWindow.hear(event);
    return !event.defaultPrevented;
  }
}

class FakeText extends FakeNode {
  override readonly nodeType = 3;
  data: string;

  constructor(data: string) {
    super();
    this.data = data;
  }

  // Preact writes numbers, too.
  override get textContent() {
    return String(this.data);
  }
}

/** One step of a selector, such as `td.number[data-name="A"]`. */
interface Step {
  isChild: boolean;
  tests: ((element: FakeElement) => boolean)[];
}

function stepsOf(selector: string): Step[] {
  let isChild = false;
  const steps: Step[] = [];
  for (const [word] of selector.matchAll(/(?:\[[^\]]*\]|[^\s[])+/g)) {
    if (word === ">") {
      isChild = true;
      continue;
    }
    const tests = Array.from(
      word.matchAll(/^[\w-]+|:not\(([^)]+)\)|#([\w-]+)|\.([\w-]+)|\[([\w-]+)(?:="?([^"\]]*)"?)?\]/g),
      ([whole, not, id, kind, name, value]) =>
        (element: FakeElement) =>
          not !== undefined
            ? !fits(element, stepsOf(not))
            : id !== undefined
              ? element.getAttribute("id") === id
              : kind !== undefined
                ? (element.getAttribute("class") ?? "").split(" ").includes(kind)
                : name !== undefined
                  ? value === undefined
                    ? element.hasAttribute(name)
                    : element.getAttribute(name) === value
                  : element.localName === whole,
    );
    steps.push({ isChild, tests });
    isChild = false;
  }
  return steps;
}

const selectors = new Map<string, Step[][]>();

function parsed(selector: string): Step[][] {
  const known = selectors.get(selector) ?? selector.split(/,\s*/).map(stepsOf);
  selectors.set(selector, known);
  return known;
}

/** Adds the elements below a node that fit, in their order, until there are as many as wanted. */
function find(node: FakeNode, all: readonly Step[][], found: FakeElement[], most: number): FakeElement[] {
  for (const child of node.childNodes) {
    if (!(child instanceof FakeElement)) continue;
    if (all.some((steps) => fits(child, steps))) found.push(child);
    if (found.length < most) find(child, all, found, most);
    if (found.length >= most) break;
  }
  return found;
}

function fits(element: FakeElement, steps: readonly Step[]): boolean {
  const last = steps.at(-1);
  if (last === undefined) return true;
  if (!last.tests.every((test) => test(element))) return false;
  const others = steps.slice(0, -1);
  if (others.length === 0) return true;
  for (let at = element.parentNode; at !== null; at = at.parentNode) {
    if (fits(at, others)) return true;
    if (last.isChild) return false;
  }
  return false;
}

export class FakeElement extends FakeNode {
  override readonly nodeType = 1;
  readonly localName: string;
  readonly namespaceURI: string;
  readonly #attributes = new Map<string, string>();
  readonly style: Record<string, unknown> & { cssText: string } = { cssText: "" };

  constructor(namespaceURI: string, localName: string) {
    super();
    this.namespaceURI = namespaceURI;
    this.localName = localName;
  }

  get attributes() {
    return Array.from(this.#attributes, ([name, value]) => ({ name, value }));
  }

  getAttribute(name: string): string | null {
    return this.#attributes.get(name) ?? null;
  }

  hasAttribute(name: string): boolean {
    return this.#attributes.has(name);
  }

  setAttribute(name: string, value: unknown): void {
    this.#attributes.set(name, String(value));
  }

  removeAttribute(name: string): void {
    this.#attributes.delete(name);
  }

  get value(): string {
    return this.getAttribute("value") ?? "";
  }

  set value(text: string) {
    this.setAttribute("value", text);
  }

  get defaultValue() {
    return this.value;
  }

  get name(): string {
    return this.getAttribute("name") ?? "";
  }

  get target(): string {
    return this.getAttribute("target") ?? "";
  }

  get checked() {
    return this.hasAttribute("checked");
  }

  set checked(is: boolean) {
    if (is) this.setAttribute("checked", "");
    else this.removeAttribute("checked");
  }

  get open() {
    return this.hasAttribute("open");
  }

  set open(is: boolean) {
    if (is) this.setAttribute("open", "");
    else this.removeAttribute("open");
  }

  insertBefore(node: FakeNode, before: FakeNode | null): FakeNode {
    node.remove();
    const at = before === null ? this.childNodes.length : this.childNodes.indexOf(before);
    this.childNodes.splice(at, 0, node);
    node.parentNode = this;
    return node;
  }

  appendChild(node: FakeNode): FakeNode {
    return this.insertBefore(node, null);
  }

  append(...nodes: (FakeNode | string)[]): void {
    for (const node of nodes) this.appendChild(typeof node === "string" ? new FakeText(node) : node);
  }

  removeChild(node: FakeNode): FakeNode {
    this.childNodes.splice(this.childNodes.indexOf(node), 1);
    node.parentNode = null;
    return node;
  }

  cloneNode(isDeep = false): FakeElement {
    const copy = new FakeElement(this.namespaceURI, this.localName);
    for (const { name, value } of this.attributes) copy.setAttribute(name, value);
    if (isDeep)
      for (const child of this.childNodes)
        copy.append(child instanceof FakeElement ? child.cloneNode(true) : child.textContent);
    return copy;
  }

  querySelectorAll(selectors: string): FakeElement[] {
    return find(this, parsed(selectors), [], Number.POSITIVE_INFINITY);
  }

  querySelector(selectors: string): FakeElement | null {
    const [first = null] = find(this, parsed(selectors), [], 1);
    return first;
  }

  closest(selector: string): FakeElement | null {
    const all = parsed(selector);
    return all.some((steps) => fits(this, steps)) ? this : (this.parentNode?.closest(selector) ?? null);
  }

  get id(): string {
    return this.getAttribute("id") ?? "";
  }

  set id(text: string) {
    this.setAttribute("id", text);
  }

  /** As if each element were drawn at the same place. */
  getBBox() {
    return { x: 180, y: 112, width: 30, height: 20 };
  }

  getBoundingClientRect() {
    return { left: 0, top: 0, width: 0, height: 0 };
  }

  scrollIntoView(): void {}

  select(): void {}

  focus(): void {
    fakeDocument.activeElement = this;
  }

  blur(): void {
    fakeDocument.activeElement = null;
    this.dispatchEvent(new FakeEvent("blur"));
  }

  /** Clicking a link to a file saves the file. */
  click(): void {
    if (this.localName === "a" && "download" in this) saved.push(Object(this).download);
    this.dispatchEvent(new FakeEvent("click"));
  }

  replaceWith(node: FakeNode): void {
    this.parentNode?.insertBefore(node, this);
    this.remove();
  }

  getContext() {
    return {
      font: "",
      // Each letter is as wide as it is high.
      measureText: (text: string) => ({ width: 6 * text.length }),
      drawImage: (image: FakeImage, ...place: number[]) => painted.push([image, ...place]),
    };
  }

  /** A canvas as a file. */
  toBlob(done: (blob: Blob | null) => void, type: string): void {
    const { width, height } = Object(this);
    done(type === blobs.refused ? null : new Blob([`${width} × ${height}`], { type }));
  }
}

class FakeImage {
  src = "";
  readonly width: number;
  readonly height: number;

  constructor(width: number, height: number) {
    this.width = width;
    this.height = height;
  }

  async decode(): Promise<void> {
    if (this.src.startsWith(blobs.undecoded)) throw new Error("no");
  }
}

/** What canvases have painted: images with their places. */
export const painted: [image: FakeImage, ...place: number[]][] = [];
/** Files that the browser can't make or decode. */
export const blobs = { refused: "nothing", undecoded: "nothing" };
/** The names of saved files. */
export const saved: string[] = [];
/** The saved files' contents, in the same order. */
export const savedBlobs: Blob[] = [];
/** The texts that were copied. */
export const copies: string[] = [];

class FakeDocument extends FakeElement {
  title = "";
  activeElement: FakeElement | null = null;

  createElement(name: string) {
    return new FakeElement("http://www.w3.org/1999/xhtml", name);
  }

  createElementNS(space: string, name: string) {
    return new FakeElement(space, name);
  }

  createTextNode(text: string) {
    return new FakeText(text);
  }

  getElementById(id: string) {
    return this.querySelector(`[id="${id}"]`);
  }
}

const fakeDocument = new FakeDocument("", "html");
const fakeWindow = new Listeners();

export { fakeDocument as page };
export const hearInWindow = (event: FakeEvent): void => fakeWindow.hear(event);

/** Empties the document, as a browser does before it opens a page. */
export function leavePage(): void {
  fakeWindow.forget();
  for (const child of [...fakeDocument.childNodes]) child.remove();
}

/** The address of the page. */
export const place = {
  url: new URL("http://prices.test/"),
  history: [] as string[],
};

function visit(to: string | URL): void {
  place.url = new URL(to, place.url);
}

const stored = new Map<string, string>();
/** What the browser stores for the site. */
export const kept = {
  getItem: (name: string) => stored.get(name) ?? null,
  setItem: (name: string, value: string) => void stored.set(name, value),
  removeItem: (name: string) => void stored.delete(name),
};
/** The pictures that were made into files. */
export const pictures: FakeElement[] = [];

interface FakeObserver {
  see(seen: readonly { isIntersecting: boolean; target: FakeElement }[]): void;
}
/** What observes which elements are in the window. A test says which. */
export const observers: FakeObserver[] = [];

/** Makes the modules of a browser work in this process. */
export function installDom(): void {
  const location = Object.defineProperties(
    {},
    Object.fromEntries(
      (["href", "origin", "host", "pathname", "search", "hash"] as const).map((name) => [
        name,
        { get: () => place.url[name] },
      ]),
    ),
  );
  const globals = {
    document: fakeDocument,
    location,
    history: {
      pushState(_state: unknown, _title: string, to: string | URL) {
        visit(to);
        place.history.push(place.url.pathname + place.url.search);
      },
      replaceState: (_state: unknown, _title: string, to: string | URL) => visit(to),
    },
    localStorage: kept,
    navigator: { clipboard: { writeText: async (text: string) => copies.push(text) } },
    Element: FakeElement,
    SVGElement: FakeElement,
    Image: FakeImage,
    Node: FakeNode,
    getSelection: () => null,
    getComputedStyle: (element: FakeElement) => ({
      ...{ display: "", color: "", backgroundColor: "" },
      getPropertyValue: (name: string) => element.getAttribute(name) ?? "",
    }),
    addEventListener: (type: string, listener: Listener) => fakeWindow.addEventListener(type, listener),
    removeEventListener: (type: string, listener: Listener) => fakeWindow.removeEventListener(type, listener),
    dispatchEvent: ({ type }: Event) => fakeWindow.hear(new FakeEvent(type)),
    XMLSerializer: class {
      /** The texts alone, because the tests read nothing else. */
      serializeToString(node: FakeElement): string {
        pictures.push(node);
        return node
          .querySelectorAll("text")
          .map((text) => text.textContent)
          .join(" ");
      }
    },
    DOMParser: class {
      /** Of a page, the script reads only the settings, and of a drawing the paths. */
      parseFromString(text: string) {
        const parsed = new FakeDocument("", "html");
        for (const [, id, d] of text.matchAll(/<path id="(\w+)" d="([^"]*)"/g)) {
          const path = parsed.createElementNS("http://www.w3.org/2000/svg", "path");
          for (const [name, value] of Object.entries({ id, d })) path.setAttribute(name, value);
          parsed.append(path);
        }
        const script = parsed.createElement("script");
        script.setAttribute("id", "settings");
        script.append(text);
        parsed.append(script);
        return parsed;
      }
    },
    IntersectionObserver: class {
      readonly see: FakeObserver["see"];

      constructor(see: FakeObserver["see"]) {
        this.see = see;
        observers.push(this);
      }

      observe() {}
      disconnect() {}
    },
  };
  for (const [name, value] of Object.entries(globals))
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
  URL.createObjectURL = (blob: Blob) => {
    savedBlobs.push(blob);
    return "blob:";
  };
}
