/**
 * Sigma reads constants off the WebGL classes while it loads; a browser without them must still get as far as the
 * plain view. Imported before anything else.
 */

const scope = globalThis as Record<string, unknown>;
scope.WebGLRenderingContext ??= class {};
scope.WebGL2RenderingContext ??= class {};
