/** One bundle for three places: the server's page, the self-contained file, and a notebook's widget (anywidget). */

import "./no-webgl.ts";
import { App } from "./app.ts";
import { fileSource, serverSource, type WidgetModel, widgetSource } from "./source.ts";

/** What anywidget calls to show the widget in a cell; the function it returns takes it away. */
export function render({ model, el }: { model: WidgetModel; el: HTMLElement }): () => void {
  const root = document.createElement("div");
  root.classList.add("embedded");
  root.setAttribute("data-lm-suppress-shortcuts", "true"); // keys pressed here are not JupyterLab's
  el.append(root);
  const app = new App(root, widgetSource(model), false);
  void app.start();
  return () => {
    app.kill();
    root.remove();
  };
}

export default { render };

const page = document.getElementById("quiltwork-app");
if (page !== null) {
  const app = new App(page, fileSource(document) ?? serverSource(), true);
  (globalThis as Record<string, unknown>).quiltwork = app;
  void app.start();
}
