// What the server takes, and how much smaller a picture is made until it fits. The last one always does.
const MOST_BYTES = 1_000_000;
const SCALES = [1, 0.7, 0.5];

// A pad to sign on, with a finger, a pen or a mouse. A picture can be laid on it instead.
export class Signature {
  #context;
  #last = null;
  // When the picture was made.
  #shown = null;
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
    this.#shown = null;
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

  // All of the picture, in the middle.
  show(picture, at) {
    this.clear();
    const { width, height } = this.canvas;
    const scale = Math.min(width / picture.width, height / picture.height);
    const [wide, high] = [picture.width * scale, picture.height * scale];
    this.#context.drawImage(picture, (width - wide) / 2, (height - high) / 2, wide, high);
    this.#shown = at;
    this.isEmpty = false;
    this.changed(this);
  }

  origin() {
    return this.#shown ? { source: "picker", at: this.#shown } : { source: "camera", at: new Date() };
  }

  async png() {
    let blob;
    for (const scale of SCALES) {
      blob = await scaled(this.canvas, scale);
      if (blob.size <= MOST_BYTES) break;
    }
    return blob;
  }
}

function scaled(canvas, scale) {
  const small = document.createElement("canvas");
  small.width = Math.round(canvas.width * scale);
  small.height = Math.round(canvas.height * scale);
  small.getContext("2d").drawImage(canvas, 0, 0, small.width, small.height);
  return new Promise((resolve) => { small.toBlob(resolve, "image/png"); });
}
