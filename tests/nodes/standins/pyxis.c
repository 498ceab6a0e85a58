/* STAND-IN for Pyxis: a SPANK plugin that knows its options and tells the job which image it was given.
 * It starts no container. Declarations are those of Slurm's documented SPANK interface. */
#include <stdlib.h>
#include <string.h>

typedef void *spank_t;
struct spank_option {
	char *name, *arginfo, *usage;
	int has_arg, val;
	int (*callback)(int val, const char *argument, int remote);
};
extern int spank_setenv(spank_t spank, const char *name, const char *value, int overwrite);

const char plugin_name[] = "pyxis";
const char plugin_type[] = "spank";
const unsigned int plugin_version = SLURM_VERSION_NUMBER;
const unsigned int spank_plugin_version = 1;

static char *image;

static int take_image(int val, const char *argument, int remote)
{
	image = strdup(argument);
	return 0;
}

static int ignore(int val, const char *argument, int remote)
{
	return 0;
}

struct spank_option spank_options[] = {
	{ "container-image", "IMAGE", "[stand-in] image of the container", 1, 0, take_image },
	{ "container-mounts", "MOUNTS", "[stand-in] folders in it", 1, 0, ignore },
	{ "container-workdir", "PATH", "[stand-in] working directory in it", 1, 0, ignore },
	{ NULL, NULL, NULL, 0, 0, NULL }
};

int slurm_spank_task_init(spank_t spank, int count, char **arguments)
{
	return image ? spank_setenv(spank, "STAND_IN_IMAGE", image, 1) : 0;
}
