# cmake -DGENERATE="command" -DMADE=file -DKEPT=file -P CheckDoc.cmake: fails unless the command writes what is kept.
separate_arguments(command UNIX_COMMAND ${GENERATE})
execute_process(COMMAND ${command} -o ${MADE} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND diff -u ${KEPT} ${MADE} RESULT_VARIABLE differs)
if(differs)
  message(FATAL_ERROR "${KEPT} is stale: build the target `docs` and commit it")
endif()
