// A pad to sign on, with a finger, a pen or a mouse.
export class Signature {
  #context;
  #last = null;
  isEmpty = true;

  constructor(canvas, changed) {
    this.canvas = canvas;
    this.changed = changed;
    this.#context = canvas.getContext("2d");
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      this.#last = this.#at(event);
      this.#line(this.#last);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!this.#last) return;
      for (const one of event.getCoalescedEvents?.() ?? [event]) this.#line(this.#at(one));
    });
    for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, () => { this.#last = null; });
    this.clear();
  }

  clear() {
    this.isEmpty = true;
    this.#context.fillStyle = "#fff";
    this.#context.fillRect(0, 0, this.canvas.width, this.canvas.height);
    this.changed(this);
  }

  #at({ offsetX, offsetY }) {
    const { canvas } = this;
    return [(offsetX * canvas.width) / canvas.clientWidth, (offsetY * canvas.height) / canvas.clientHeight];
  }

  #line([x, y]) {
    const context = this.#context;
    Object.assign(context, { strokeStyle: "#111", lineWidth: 4, lineCap: "round", lineJoin: "round" });
    context.beginPath();
    context.moveTo(...this.#last);
    context.lineTo(x, y);
    context.stroke();
    this.#last = [x, y];
    if (this.isEmpty) {
      this.isEmpty = false;
      this.changed(this);
    }
  }

  png() {
    return new Promise((resolve) => { this.canvas.toBlob(resolve, "image/png"); });
  }
}
