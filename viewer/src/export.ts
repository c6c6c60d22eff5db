/** Pictures as files. Their names are fixed: no name of a variable reaches the file system. */

import { type Scene, sceneCanvas, sceneFile } from "./scene.ts";

export type PictureFormat = "svg" | "png";

/** Browsers refuse canvases much larger than this. */
const MOST_PIXELS = 40_000_000;

export async function savePicture(scene: Scene, format: PictureFormat, stem: string): Promise<void> {
  const blob = format === "svg" ? new Blob([sceneFile(scene)], { type: "image/svg+xml" }) : await png(scene);
  const address = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = address;
  link.download = `quiltwork-${stem}.${format}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

function png(scene: Scene): Promise<Blob> {
  const scale = Math.min(2, Math.sqrt(MOST_PIXELS / (scene.width * scene.height)));
  const canvas = sceneCanvas(scene, scale);
  return new Promise((resolve, reject) =>
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("This browser could not write the picture.")))),
  );
}
