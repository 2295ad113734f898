// Passkeys: a form gets what the browser made or signed, and is sent. Its attributes say every sentence.

const bytes = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
const text = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer)))
  .replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
const keys = (ids) => ids.map((id) => ({ type: "public-key", id: bytes(id) }));

async function made(asked) {
  const credential = await navigator.credentials.create({
    publicKey: {
      challenge: bytes(asked.challenge),
      rp: asked.rp,
      user: { ...asked.user, id: bytes(asked.user.id) },
      pubKeyCredParams: asked.algorithms.map((alg) => ({ type: "public-key", alg })),
      excludeCredentials: keys(asked.excludeCredentials),
      authenticatorSelection: { residentKey: "required", requireResidentKey: true, userVerification: "required" },
      attestation: "none",
    },
  });
  const { response } = credential;
  return { client_data: text(response.clientDataJSON), attestation: text(response.attestationObject) };
}

async function signed(asked) {
  const credential = await navigator.credentials.get({
    publicKey: {
      challenge: bytes(asked.challenge),
      rpId: asked.rpId,
      allowCredentials: keys(asked.allowCredentials),
      timeout: asked.timeout,
      userVerification: "required",
    },
  });
  const { response } = credential;
  return {
    credential_id: text(credential.rawId),
    client_data: text(response.clientDataJSON),
    authenticator_data: text(response.authenticatorData),
    signature: text(response.signature),
    user_handle: response.userHandle ? text(response.userHandle) : "",
  };
}

function fill(form, fields) {
  for (const [name, value] of Object.entries(fields)) {
    const field = form.querySelector(`input[type=hidden][name=${name}]`) ?? document.createElement("input");
    field.type = "hidden";
    field.name = name;
    field.value = value;
    form.append(field);
  }
}

async function use(form, say) {
  const { given, options, passkey } = form.dataset;
  let asked = given && JSON.parse(given);
  if (!asked) {
    const answer = await fetch(options, { method: "POST" });
    if (answer.redirected) return location.assign(answer.url);
    if (!answer.ok) return say(form.dataset.failed);
    asked = await answer.json();
    if (asked.again) return location.assign(asked.again);
  }
  let fields;
  try {
    fields = await (passkey === "create" ? made : signed)(asked);
  } catch (error) {
    const why = { NotAllowedError: "cancelled", InvalidStateError: "known" }[error.name];
    return say(form.dataset[why ?? "failed"]);
  }
  fill(form, { challenge_id: asked.challenge_id, ...fields });
  form.submit();
}

for (const form of document.querySelectorAll("form[data-passkey]")) {
  const note = form.querySelector("[data-note]");
  const button = form.querySelector("button");
  const say = (words) => {
    note.textContent = words;
    note.hidden = false;
  };
  const { site } = form.dataset;
  if (location.origin !== site) {
    // 127.0.0.1 is one such address: localhost has passkeys, numbers have none.
    const link = document.createElement("a");
    link.href = site + location.pathname;
    link.textContent = site;
    say(`${form.dataset.elsewhere} `);
    note.append(link);
  } else if (!window.PublicKeyCredential) {
    say(form.dataset.unsupported);
  } else {
    note.hidden = true;
    button.hidden = false;
    if (button.parentElement !== form) button.parentElement.hidden = false;
    let busy = false;
    button.addEventListener("click", async () => {
      if (busy || !form.reportValidity()) return;
      busy = true;
      note.hidden = true;
      try {
        await use(form, say);
      } catch {
        say(form.dataset.failed);
      }
      busy = false;
    });
    form.addEventListener("submit", (event) => {
      // Enter in the field of the name.
      event.preventDefault();
      button.click();
    });
  }
}
