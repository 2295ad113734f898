// What a stranger sees.
export async function frontDoor(visitor) {
  const page = await visitor.window();
  await visitor.look(page, "/", "front");
  await visitor.look(page, "/no-such-page", "not-found");
  await visitor.look(page, "/styleguide", "styleguide");
  await visitor.look(page, "/docs/", "reference");
  await visitor.look(page, "/docs/tasks", "reference-tasks");
  await visitor.look(page, "/sign-in", "sign-in");
  await visitor.look(page, "/sign-up", "sign-up");
  await visitor.look(page, "/reset", "reset");
  await page.context().close();
}
