//! What scripts say, and the pages that are made by them: name, English, Spanish. A sentence that lacks one
//! of them does not compile.

use serde_json::{Map, Value};

type Sentences = &'static [(&'static str, &'static str, &'static str)];

/// On every page of somebody who is signed in.
pub const APP: Sentences = &[
    (
        "sign_out_unsent_one",
        "One proof has not been sent. It stays on this phone, and only you can send it: sign in here again.",
        "Una prueba no se ha enviado. Se queda en este teléfono y solo tú puedes enviarla: vuelve a entrar aquí.",
    ),
    (
        "sign_out_unsent",
        "{count} proofs have not been sent. They stay on this phone, and only you can send them: sign in here again.",
        "{count} pruebas no se han enviado. Se quedan en este teléfono y solo tú puedes enviarlas: vuelve a entrar aquí.",
    ),
    ("sign_out_anyway", "Go on anyway", "Seguir de todos modos"),
    ("stay", "Stay", "Quedarme"),
    (
        "sign_out_offline",
        "Signing out needs a network. You are still signed in, and your pages are still on this phone.",
        "Para salir hace falta red. Sigues dentro y tus páginas siguen en este teléfono.",
    ),
    (
        "stale_slow",
        "The network is slow. This page is from {at}.",
        "La red va lenta. Esta página es de {at}.",
    ),
    (
        "stale_online",
        "You are online again. This page is from {at}.",
        "Vuelves a tener conexión. Esta página es de {at}.",
    ),
    ("show_now", "Show it as it is now", "Ver cómo está ahora"),
    ("install", "Install the app", "Instalar la app"),
    (
        "install_why",
        "Installed, it opens like any other app, and your phone keeps what waits to be sent.",
        "Instalada, se abre como cualquier otra app y tu teléfono guarda lo que espera.",
    ),
    (
        "push_on",
        "Notices come to this phone.",
        "Los avisos llegan a este teléfono.",
    ),
    (
        "push_off",
        "No notices come to this phone.",
        "A este teléfono no llegan avisos.",
    ),
    ("push_start", "Turn on notices here", "Activar avisos aquí"),
    (
        "push_stop",
        "Turn off notices here",
        "Desactivar avisos aquí",
    ),
    (
        "push_denied",
        "Notices are not allowed. Tap the icon beside the address of this page and allow Notifications.",
        "Los avisos no están permitidos. Toca el icono junto a la dirección de esta página y permite Notificaciones.",
    ),
    (
        "push_failed",
        "That did not work. Try again with a network.",
        "No ha funcionado. Prueba otra vez con red.",
    ),
];

pub const CAPTURE: Sentences = &[
    ("capture_title", "Take the proof", "Tomar la prueba"),
    ("back_to_task", "Back to the task", "Volver a la tarea"),
    ("wanted_title", "What is wanted", "Lo que se pide"),
    ("type_photo", "Photo", "Foto"),
    ("type_video", "Video", "Vídeo"),
    ("type_signature", "Signature", "Firma"),
    (
        "take_photo",
        "Show what the task asks for, sharp and bright.",
        "Muestra lo que pide la tarea, nítido y con luz.",
    ),
    (
        "take_video",
        "At most a minute. It has no sound.",
        "Un minuto como máximo. No tiene sonido.",
    ),
    (
        "take_signature",
        "Let the person sign in the white field, or choose a picture of the signature.",
        "La persona firma en el campo blanco, o elige una imagen de la firma.",
    ),
    ("missing", "missing", "falta"),
    ("taken", "taken", "hecha"),
    ("take", "Take", "Tomar"),
    ("again", "Again", "Otra vez"),
    ("shutter", "Take", "Tomar"),
    ("stop", "Stop", "Parar"),
    ("turn_camera", "Turn", "Girar"),
    ("pick", "Camera app", "App de cámara"),
    ("pick_file", "Choose a file", "Elegir un archivo"),
    ("use", "Use", "Usar"),
    ("clear", "Clear", "Borrar"),
    ("pad_label", "Field to sign in", "Campo para firmar"),
    (
        "shot_alt",
        "The picture that you took",
        "La foto que has tomado",
    ),
    (
        "finder_label",
        "What the camera sees",
        "Lo que ve la cámara",
    ),
    ("send_proof", "Send the proof", "Enviar la prueba"),
    (
        "ready_text",
        "Everything is taken, and kept on this phone. Without a network it is sent later.",
        "Todo está hecho y guardado en este teléfono. Sin red se envía más tarde.",
    ),
    (
        "lacks_position",
        "The proof needs your position. Allow it, or go outside and wait a moment.",
        "La prueba necesita tu posición. Permítela, o sal al exterior y espera un momento.",
    ),
    (
        "waits",
        "A proof of this task waits in your outbox.",
        "Una prueba de esta tarea espera en tu bandeja de salida.",
    ),
    ("open_outbox", "Open the outbox", "Abrir la bandeja"),
    (
        "not_now",
        "The task takes no proof now. See the task for what is next.",
        "La tarea no admite pruebas ahora. Mira en la tarea qué sigue.",
    ),
    (
        "distance",
        "{distance} from the place, known to {accuracy}",
        "A {distance} del lugar, con {accuracy} de precisión",
    ),
    (
        "far",
        "You seem to be {distance} away. You can send the proof, but it may be rejected.",
        "Parece que estás a {distance}. Puedes enviar la prueba, pero podrían rechazarla.",
    ),
    (
        "approximate",
        "Your phone shares only an approximate position. Allow the precise one for this site: in the settings of the browser, under Location.",
        "Tu teléfono comparte solo una posición aproximada. Permite la precisa para este sitio: en los ajustes del navegador, en Ubicación.",
    ),
    (
        "position_waiting",
        "Looking for your position …",
        "Buscando tu posición …",
    ),
    (
        "position_denied",
        "The position is not allowed. Tap the icon beside the address of this page, allow Location, and try again.",
        "La posición no está permitida. Toca el icono junto a la dirección de esta página, permite Ubicación y prueba otra vez.",
    ),
    (
        "position_unavailable",
        "No position yet. Go outside or to a window, and try again.",
        "Aún sin posición. Sal al exterior o acércate a una ventana y prueba otra vez.",
    ),
    ("locate", "Try again", "Probar otra vez"),
    (
        "camera_denied",
        "The camera is not allowed. Tap the icon beside the address of this page and allow Camera, or use the camera app below.",
        "La cámara no está permitida. Toca el icono junto a la dirección de esta página y permite Cámara, o usa la app de cámara aquí abajo.",
    ),
    (
        "camera_missing",
        "This page finds no camera that it can use. Use the camera app below.",
        "Esta página no encuentra una cámara que pueda usar. Usa la app de cámara aquí abajo.",
    ),
    (
        "nothing_recorded",
        "Nothing was recorded. Try again, and record a little longer.",
        "No se grabó nada. Prueba otra vez y graba un poco más.",
    ),
    (
        "video_unsupported",
        "This browser records no MP4. Record with the camera app below.",
        "Este navegador no graba MP4. Graba con la app de cámara aquí abajo.",
    ),
    (
        "bad_file",
        "This file cannot be used. Choose a photo (JPEG, PNG), or for a video an MP4.",
        "Este archivo no sirve. Elige una foto (JPEG, PNG) o, para un vídeo, un MP4.",
    ),
    (
        "too_large",
        "The file is too large: at most {most}.",
        "El archivo es demasiado grande: {most} como máximo.",
    ),
    (
        "disk_full",
        "The phone is full: this was not kept. Delete something else, then tap Use again.",
        "El teléfono está lleno: esto no se guardó. Borra otra cosa y toca Usar otra vez.",
    ),
    (
        "not_kept",
        "This was not kept: the phone may be full. Delete something else, then tap Use again.",
        "Esto no se guardó: quizá el teléfono está lleno. Borra otra cosa y toca Usar otra vez.",
    ),
    (
        "needs_script",
        "Taking proof needs JavaScript.",
        "Para tomar pruebas hace falta JavaScript.",
    ),
];

pub const OUTBOX: Sentences = &[
    ("outbox_title", "Outbox", "Bandeja de salida"),
    (
        "outbox_lead",
        "What you took is kept on this phone until it has arrived. Leave the app open while it is sent.",
        "Lo que tomaste se guarda en este teléfono hasta que llega. Deja la app abierta mientras se envía.",
    ),
    ("send_now", "Send now", "Enviar ahora"),
    ("send_again", "Try again", "Volver a intentar"),
    ("outbox_empty_title", "Nothing waits", "Nada en espera"),
    (
        "outbox_empty",
        "Proof that you take appears here until it has arrived.",
        "Las pruebas que tomes aparecen aquí hasta que llegan.",
    ),
    ("state_draft", "Not complete", "Incompleta"),
    ("state_ready", "Waiting", "En espera"),
    ("state_sending", "Sending", "Enviando"),
    ("state_refused", "Not accepted", "No aceptada"),
    ("state_sent", "Arrived", "Ha llegado"),
    (
        "must_arrive",
        "Must arrive by {time}",
        "Debe llegar antes de: {time}",
    ),
    ("sent_at", "Arrived at {time}", "Llegó: {time}"),
    ("bytes", "{sent} of {size}", "{sent} de {size}"),
    ("save", "Save", "Guardar"),
    ("go_on", "Go on", "Continuar"),
    ("discard", "Discard", "Descartar"),
    ("keep", "Keep", "Conservar"),
    (
        "discard_ask",
        "Discard the proof for “{title}”? It has not arrived, and it cannot be brought back.",
        "¿Descartar la prueba de «{title}»? No ha llegado y no se puede recuperar.",
    ),
    (
        "discard_arrived",
        "Too late: the proof for “{title}” had arrived before it was discarded.",
        "Demasiado tarde: la prueba de «{title}» había llegado antes de descartarla.",
    ),
    (
        "discard_unknown",
        "Not discarded: all of the proof for “{title}” was sent, and without the server nobody knows whether it has arrived. Try again when there is a network.",
        "No descartada: la prueba de «{title}» se envió entera y, sin el servidor, nadie sabe si ha llegado. Prueba otra vez cuando haya red.",
    ),
    ("sign_in_again", "Sign in again", "Entrar otra vez"),
    (
        "storage_kept",
        "Your browser has promised to keep the outbox.",
        "Tu navegador ha prometido conservar la bandeja.",
    ),
    (
        "storage_may_go",
        "Your browser may clear the outbox when the phone is full. Install the app, and send soon.",
        "Tu navegador puede vaciar la bandeja cuando el teléfono esté lleno. Instala la app y envía pronto.",
    ),
    ("type_photo", "Photo", "Foto"),
    ("type_video", "Video", "Vídeo"),
    ("type_signature", "Signature", "Firma"),
    (
        "error_OFFLINE",
        "No network. It goes on by itself.",
        "Sin red. Seguirá por sí sola.",
    ),
    (
        "error_SIGNED_OUT",
        "You are signed out. Sign in again: everything is still here.",
        "Tu sesión terminó. Entra otra vez: todo sigue aquí.",
    ),
    (
        "error_TASK_NOT_FOUND",
        "The task is not yours any more. Save the files if you need them.",
        "La tarea ya no es tuya. Guarda los archivos si los necesitas.",
    ),
    (
        "error_INVALID_TASK_STATE",
        "The task takes no proof any more: its time ran out, or it is over. Save the files if you need them.",
        "La tarea ya no admite pruebas: se acabó el tiempo o ha terminado. Guarda los archivos si los necesitas.",
    ),
    (
        "error_FILE_MISSING",
        "The browser has lost this file. Take it again.",
        "El navegador ha perdido este archivo. Tómalo otra vez.",
    ),
    (
        "error_RATE_LIMITED",
        "Too much at once. It goes on in a while.",
        "Demasiado a la vez. Seguirá en un rato.",
    ),
    (
        "error_TOO_MANY_UPLOADS",
        "Too many uploads are open. It goes on in a while.",
        "Hay demasiadas subidas abiertas. Seguirá en un rato.",
    ),
    (
        "error_UNAVAILABLE",
        "The server is busy. It goes on by itself.",
        "El servidor está ocupado. Seguirá por sí sola.",
    ),
    (
        "error_UPLOAD_GONE",
        "It is sent again from the beginning.",
        "Se envía otra vez desde el principio.",
    ),
    (
        "error_ACCOUNT_SUSPENDED",
        "Your account is suspended. Save the files if you need them.",
        "Tu cuenta está suspendida. Guarda los archivos si los necesitas.",
    ),
    (
        "error_STORAGE_FULL",
        "The developer has no room for more files. Save the files, and tell the developer.",
        "El desarrollador no tiene sitio para más archivos. Guárdalos y avísale.",
    ),
    (
        "error_other",
        "The server says: {message}",
        "El servidor dice: {message}",
    ),
];

/// Pages of the shell.
pub const SHELL: Sentences = &[
    ("offline_title", "No network", "Sin red"),
    (
        "offline_text",
        "This page is not on your phone. Your tasks and your outbox are, if you have opened them before.",
        "Esta página no está en tu teléfono. Tus tareas y tu bandeja sí, si las abriste antes.",
    ),
    ("offline_tasks", "Your tasks", "Tus tareas"),
    ("reset_title", "Reset the app", "Restablecer la app"),
    (
        "reset_busy",
        "Removing what this browser keeps of the app …",
        "Quitando lo que este navegador guarda de la app …",
    ),
    (
        "reset_done",
        "Done: the next page comes fresh from the server. Proof that waits to be sent is still here.",
        "Hecho: la próxima página viene nueva del servidor. Las pruebas en espera siguen aquí.",
    ),
    ("reset_go", "Open the app", "Abrir la app"),
    (
        "app_description",
        "Tasks near you, with the pay shown first.",
        "Tareas cerca de ti, con el pago por delante.",
    ),
];

fn in_language(
    lang: &str,
    (_, english, spanish): (&'static str, &'static str, &'static str),
) -> &'static str {
    match lang {
        "es" => spanish,
        _ => english,
    }
}

/// The sentence of this name. Empty when there is none; a test looks for such.
pub fn sentence(lang: &str, from: Sentences, name: &str) -> &'static str {
    let found = from.iter().find(|(found, ..)| *found == name);
    found.map_or("", |found| in_language(lang, *found))
}

/// As scripts read them.
pub fn as_json(lang: &str, from: Sentences) -> Map<String, Value> {
    let texts = from.iter();
    texts
        .map(|text| (text.0.to_owned(), in_language(lang, *text).into()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names in calls such as `word("stay")`, also those of both branches of a choice.
    fn used(source: &str, call: &str) -> Vec<String> {
        let calls = source.split(call).skip(1);
        let arguments = calls.map(|rest| {
            rest.split(['(', ')', '{', ';', '\n'])
                .next()
                .unwrap_or(rest)
        });
        let quoted = arguments.flat_map(|text| text.split('"').skip(1).step_by(2));
        quoted
            .filter(|name| !name.is_empty())
            .filter(|name| name.chars().all(|c| c.is_ascii_lowercase() || c == '_'))
            .map(str::to_owned)
            .collect()
    }

    #[test]
    fn scripts_and_pages_say_nothing_that_has_no_words() {
        let script = |name: &str| {
            let path = format!(
                "{}/assets/modules/worker/{name}.js",
                env!("CARGO_MANIFEST_DIR")
            );
            std::fs::read_to_string(path).unwrap()
        };
        for (name, known) in [
            ("app", APP),
            ("capture", CAPTURE),
            ("outbox", OUTBOX),
            ("push", APP),
        ] {
            let source = script(name);
            let mut names = used(&source, "word(");
            names.extend(used(&source, "tell("));
            names.extend(used(&source, "lack("));
            assert!(names.len() > 2, "{name}: {names:?}");
            for used in names {
                assert!(
                    !sentence("es", known, &used).is_empty(),
                    "{name} says {used:?}"
                );
            }
        }
        for (name, known) in [
            ("capture", CAPTURE),
            ("outbox", OUTBOX),
            ("offline", SHELL),
            ("reset", SHELL),
        ] {
            let path = format!(
                "{}/templates/worker/{name}.html",
                env!("CARGO_MANIFEST_DIR")
            );
            for used in used(&std::fs::read_to_string(path).unwrap(), "say(") {
                assert!(
                    !sentence("en", known, &used).is_empty(),
                    "{name} says {used:?}"
                );
            }
        }
    }

    #[test]
    fn names_are_used_once_and_placeholders_are_the_same_in_both_languages() {
        for from in [APP, CAPTURE, OUTBOX, SHELL] {
            for (place, (name, english, spanish)) in from.iter().enumerate() {
                assert!(
                    from[place + 1..].iter().all(|(other, ..)| other != name),
                    "{name}"
                );
                let holes = |text: &str| text.matches(['{', '}']).count();
                assert_eq!(holes(english), holes(spanish), "{name}");
            }
        }
    }
}
