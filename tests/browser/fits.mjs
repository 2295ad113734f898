// Whether a page fits a phone and a thumb. Each function runs in the page and tells what does not.

// Nothing scrolls sideways, sticks out of its place or is cut off (WCAG 1.4.4, 1.4.10).
export function outside() {
  const wide = document.documentElement.scrollWidth - window.innerWidth;
  const found = wide > 0 ? [`scrolls sideways by ${wide} px`] : [];
  // What is there for the ears alone, and what has its own scroll bar.
  const isAside = (one) => one.closest(".visually-hidden, .skip, thead, dialog:not([open]), option, svg") || scrolls(one);
  const scrolls = (one) => one && (/auto|scroll/.test(getComputedStyle(one).overflowX) || scrolls(one.parentElement));
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  while (texts.nextNode()) {
    const { parentElement: parent, data } = texts.currentNode;
    if (!data.trim() || isAside(parent) || !parent.checkVisibility({ visibilityProperty: true })) continue;
    range.selectNodeContents(texts.currentNode);
    let box = parent;
    while (/^inline$|contents/.test(getComputedStyle(box).display)) box = box.parentElement;
    const [text, place] = [range.getBoundingClientRect(), box.getBoundingClientRect()];
    const past = Math.max(text.right - Math.min(place.right, window.innerWidth), Math.max(place.left, 0) - text.left);
    if (past > 1) found.push(`sticks out by ${Math.round(past)} px: ${data.trim().slice(0, 60)}`);
  }
  return found;
}

// A thumb hits what is 44 pixels high. A link within a sentence is as high as its line (WCAG 2.5.8), and a pin of a map
// stands where its task is, which the list beside it names.
export function small() {
  const LEAST = 44;
  const all = document.querySelectorAll("a[href], button, input:not([type=hidden]), select, textarea, summary");
  const isSeen = (one) => one.checkVisibility({ visibilityProperty: true }) && !one.closest(".visually-hidden, .skip, svg, [inert]");
  const isInline = (one) => one.nodeType === Node.TEXT_NODE || (one instanceof Element && getComputedStyle(one).display.startsWith("inline"));
  const wordsOf = (node) => {
    const copy = node.cloneNode(true);
    for (const target of copy.querySelectorAll?.("a, button, .visually-hidden") ?? []) target.remove();
    return copy.nodeName === "A" || copy.nodeName === "BUTTON" ? "" : copy.textContent;
  };
  const isInSentence = (one) => {
    if (getComputedStyle(one).display !== "inline") return false;
    let line = one.parentElement;
    while (getComputedStyle(line).display === "inline") line = line.parentElement;
    return /[\p{L}\p{N}]/u.test([...line.childNodes].filter(isInline).map(wordsOf).join(""));
  };
  // A box is ticked by its words, too.
  const placeOf = (one) => (one.matches("[type=checkbox], [type=radio], [type=file]") ? one.closest("label") ?? one : one);
  const found = [];
  for (const one of all) {
    const { width, height } = placeOf(one).getBoundingClientRect();
    if (!isSeen(one) || isInSentence(one) || (height >= LEAST - 0.5 && width >= 24)) continue;
    found.push(`a target of ${Math.round(width)} × ${Math.round(height)} px: ${one.outerHTML.slice(0, 100)}`);
  }
  return found;
}

// Labels of maps and charts shrink with them.
export function faint() {
  const LEAST = 12;
  const found = [];
  for (const text of document.querySelectorAll("svg text")) {
    const size = parseFloat(getComputedStyle(text).fontSize) * (text.getScreenCTM()?.a ?? 1);
    if (size < LEAST - 0.05) found.push(`a label of ${size.toFixed(1)} px: ${text.textContent}`);
  }
  return found;
}
