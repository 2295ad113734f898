// The viewfinder: photos and short videos. Videos have no sound: what people nearby say is nobody's proof.
export const PHOTO_BYTES = 10_000_000;
export const VIDEO_BYTES = 100_000_000;
const VIDEO_SECONDS = 60;
const LEAST_SECONDS = 1;
// How long an encoder that has no picture by the end is waited for.
const PICTURE_SECONDS = 10;
const VIDEO_KINDS = ["video/mp4;codecs=avc1.42E01F", "video/mp4;codecs=avc1", "video/mp4"];
const LONGEST_SIDE = 4096;
// What a cheap phone can encode while it records, and what is worth to be looked at closely.
const WIDTHS = { video: 1280, photo: 2560 };

export class Camera {
  #stream = null;
  // Who waits for the camera.
  #begun = null;
  #facing = "environment";
  #width = WIDTHS.photo;

  constructor(video) {
    this.video = video;
  }

  // Throws what the browser throws: NotAllowedError, NotFoundError and others. A camera may take seconds to begin: whoever
  // ends it before that hears nothing more of it, and it does not stay on.
  async begin(type) {
    this.end();
    const mine = Symbol("begun");
    this.#begun = mine;
    this.#width = WIDTHS[type] ?? this.#width;
    if (!navigator.mediaDevices?.getUserMedia) throw new DOMException("no camera", "NotFoundError");
    try {
      const stream = await navigator.mediaDevices.getUserMedia({
        video: { facingMode: this.#facing, width: { ideal: this.#width }, height: { ideal: (this.#width * 9) / 16 } },
      });
      if (this.#begun !== mine) return stop(stream);
      this.#stream = stream;
      this.video.srcObject = stream;
      await this.video.play();
    } catch (error) {
      if (this.#begun === mine) throw error;
    }
  }

  end() {
    this.#begun = null;
    if (this.#stream) stop(this.#stream);
    this.#stream = null;
    this.video.srcObject = null;
  }

  turn() {
    this.#facing = this.#facing === "environment" ? "user" : "environment";
    return this.begin();
  }

  photo() {
    return draw(this.video, this.video.videoWidth, this.video.videoHeight, 0.9);
  }

  static recordsVideo() {
    return Boolean(VIDEO_KINDS.find((kind) => globalThis.MediaRecorder?.isTypeSupported(kind)));
  }

  // Records until `stop` is called, a minute has passed or the file would become too large. Throws EncodingError when
  // nothing came of it.
  record(progress) {
    const mimeType = VIDEO_KINDS.find((kind) => MediaRecorder.isTypeSupported(kind));
    const recorder = new MediaRecorder(this.#stream, { mimeType, videoBitsPerSecond: 2_500_000 });
    const parts = [];
    let bytes = 0;
    recorder.ondataavailable = ({ data }) => {
      parts.push(data);
      bytes += data.size;
      if (bytes > VIDEO_BYTES * 0.9 && recorder.state === "recording") recorder.stop();
    };
    const done = new Promise((resolve, reject) => {
      recorder.onstop = () => {
        if (bytes > 0) resolve(new Blob(parts, { type: "video/mp4" }));
        else reject(new DOMException("nothing recorded", "EncodingError"));
      };
      recorder.onerror = ({ error }) => reject(error);
    });
    recorder.start(500);
    // Its own clock: an encoder may hand over nothing for seconds.
    const begun = performance.now();
    const passed = () => (performance.now() - begun) / 1000;
    let most = VIDEO_SECONDS;
    const tick = () => {
      const seconds = passed();
      progress(Math.min(seconds, most));
      if (seconds < most || recorder.state !== "recording") return;
      if (bytes === 0 && seconds < most + PICTURE_SECONDS) recorder.requestData();
      else recorder.stop();
    };
    tick();
    const clock = setInterval(tick, 250);
    const stop = () => { most = Math.max(LEAST_SECONDS, Math.min(most, passed())); tick(); };
    return { done: done.finally(() => clearInterval(clock)), stop };
  }
}

function stop(stream) {
  for (const track of stream.getTracks()) track.stop();
}

function draw(source, width, height, quality) {
  const scale = Math.min(1, LONGEST_SIDE / Math.max(width, height));
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  canvas.getContext("2d").drawImage(source, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new DOMException("no picture", "EncodingError"))), "image/jpeg", quality);
  });
}

// A picture that is too large to be sent becomes a smaller JPEG. Throws EncodingError for what is no picture.
export async function shrunk(file) {
  if (file.size <= PHOTO_BYTES && (file.type === "image/jpeg" || file.type === "image/png")) return file;
  let picture;
  try {
    picture = await createImageBitmap(file);
  } catch {
    throw new DOMException("not a picture", "EncodingError");
  }
  for (const quality of [0.9, 0.75, 0.6]) {
    const blob = await draw(picture, picture.width, picture.height, quality);
    if (blob.size <= PHOTO_BYTES) return blob;
  }
  throw new DOMException("too large", "EncodingError");
}
