/* SPDX-License-Identifier: Apache-2.0
 * The commands of the node program, called by main.c with the words after the command; each returns an exit code. */
#ifndef GPU_SIM_NODE_COMMANDS_H
#define GPU_SIM_NODE_COMMANDS_H

int command_install(int count, char **words);
int command_ready(int count, char **words);
int command_clean_node(int count, char **words);
int command_verify(int count, char **words);
int command_ctl(int count, char **words);
int command_allocate(int count, char **words);
int command_idle(int count, char **words);
int command_nvidia_smi(int count, char **words);
int command_cdi_hook(int count, char **words);

#endif
