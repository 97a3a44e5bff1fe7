/* The stubs' node: key=value lines of the file named by $NVML_STUB_CONF, read at each question.
 * `all.KEY` is said of every GPU, `gpuN.KEY` of one, and the last line of a key wins within its kind. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define API __attribute__((visibility("default")))

static int said(const char *key, char *out, size_t size) {
    const char *path = getenv("NVML_STUB_CONF");
    FILE *file = path ? fopen(path, "r") : NULL;
    char line[256];
    int found = 0;
    size_t length = strlen(key);
    if (!file) return 0;
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\r\n")] = 0;
        if (!strncmp(line, key, length) && line[length] == '=') {
            snprintf(out, size, "%s", line + length + 1);
            found = 1;
        }
    }
    fclose(file);
    return found;
}

static void text(int gpu, const char *key, const char *otherwise, char *out, size_t size) {
    char name[96];
    snprintf(name, sizeof name, "gpu%d.%s", gpu, key);
    if (gpu >= 0 && said(name, out, size)) return;
    snprintf(name, sizeof name, "all.%s", key);
    if (!said(name, out, size)) snprintf(out, size, "%s", otherwise);
}

static double number(int gpu, const char *key, double otherwise) {
    char value[128];
    text(gpu, key, "", value, sizeof value);
    return *value ? strtod(value, NULL) : otherwise;
}
