// The line between a browser and the server, which can be cut. Cut off by its own tools, a browser still sends what it
// sends when a page is left.
import { connect, createServer } from "node:net";

export class Line {
  #isCut = false;
  #ends = new Set();

  async open(url) {
    const { port } = new URL(url);
    this.server = createServer((browser) => this.#join(browser, port));
    await new Promise((resolve) => { this.server.listen(0, "127.0.0.1", resolve); });
    return `http://localhost:${this.server.address().port}`;
  }

  #join(browser, port) {
    if (this.#isCut) return browser.destroy();
    const server = connect(Number(port), "127.0.0.1");
    for (const [one, other] of [[browser, server], [server, browser]]) {
      this.#ends.add(one);
      one.on("error", () => {});
      one.on("close", () => { this.#ends.delete(one); other.destroy(); });
      one.pipe(other);
    }
  }

  cut() {
    this.#isCut = true;
    for (const end of this.#ends) end.destroy();
  }

  mend() {
    this.#isCut = false;
  }

  close() {
    this.cut();
    this.server.close();
  }
}
